// Makes fake_heddle_rebuilt differ from fake_heddle: another build id, and one scenario whose code has changed.
namespace heddle::tests {
extern const bool is_rebuilt;
const bool is_rebuilt = true;
}  // namespace heddle::tests

// Makes fake_heddle_rebuilt differ from fake_heddle.
namespace heddle::tests {
extern const int rebuilt;
const int rebuilt = 1;
}  // namespace heddle::tests

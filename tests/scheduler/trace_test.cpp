#include <heddle/scheduler/trace.h>

#include <heddle/scheduler/random_stream.h>
#include <heddle/scheduler/whole_file.h>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace heddle::scheduler {
namespace {

trace sample(size_t answers) {
  trace made;
  made.version = "0.1.0";
  made.build_id = "0123abcd";
  made.scenario = "zoo.crossed-calls";
  made.parameters = {{"waves", "2"}, {"progress", "fair"}, {"a \"quoted\" key", "and\nvalue"}};
  made.strategy = "starve:3";
  made.seed = ~uint64_t{0};
  made.outcome = verdict::scope_race;
  made.where = "rpc/port/mailbox.h:71";
  made.hang = "host main, wave";
  made.digest = 0x00ab'cdef'0123'4567;
  made.steps = 1'234;
  random_stream draws(5);
  for (size_t index = 0; index < answers; ++index) {
    const uint32_t count = 2 + draws.below(300);
    made.answers.push_back({static_cast<choice_kind>(draws.below(choice_kind_count)), count, draws.below(count)});
    if (index % 3 == 0) made.answers.push_back(made.answers.back());
  }
  return made;
}

/// A folder that is gone after the test.
class temporary_folder {
 public:
  temporary_folder() : path_(std::filesystem::temp_directory_path() / ("heddle-trace-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~temporary_folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void expect_one_line(const trace_or_error& read) {
  EXPECT_EQ(read.value.has_value(), read.error.empty());
  EXPECT_EQ(read.error.find('\n'), std::string::npos);
  EXPECT_LT(read.error.size(), 500u);
}

TEST(trace, both_forms_give_the_same_trace_back) {
  for (const size_t answers : {0u, 1u, 7u, 5'000u}) {
    const trace recorded = sample(answers);
    const trace_or_error from_text = from_json(to_json(recorded));
    ASSERT_TRUE(from_text.value) << from_text.error;
    EXPECT_EQ(*from_text.value, recorded);
    const trace_or_error from_line = from_token(to_token(recorded));
    ASSERT_TRUE(from_line.value) << from_line.error;
    EXPECT_EQ(*from_line.value, recorded);
  }
}

TEST(trace, a_token_is_one_word) {
  const std::string token = to_token(sample(1'000));
  EXPECT_TRUE(token.starts_with("heddle2."));
  EXPECT_TRUE(is_token(token));
  EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."),
            std::string::npos);
}

TEST(trace, a_token_of_equal_answers_is_short) {
  trace recorded = sample(0);
  recorded.answers.assign(100'000, {choice_kind::actor, 2, 1});
  EXPECT_LT(to_token(recorded).size(), 1'000u);
}

TEST(trace, a_token_of_three_hundred_answers_as_they_come_fits_five_lines) {
  trace recorded = sample(0);
  recorded.parameters = {{"waves", "3"}};
  recorded.gist = "load relaxed device of ports by host server is not ordered after an atomic store by wave lane";
  recorded.build_id = "0123456789abcdef0123456789abcdef01234567";
  random_stream draws(7);
  for (size_t step = 0; step < 300; ++step) {
    // Three lanes that move at random, and memory that is old now and then.
    recorded.answers.push_back({choice_kind::actor, 3, draws.below(3)});
    if (step % 4 == 0) recorded.answers.push_back({choice_kind::visible, 2, draws.below(8) == 0 ? 1u : 0u});
  }
  EXPECT_LE(to_token(recorded).size(), 400u);
  EXPECT_EQ(from_token(to_token(recorded)).value, recorded);
}

TEST(trace, a_token_of_the_first_form_is_read) {
  // Of version 0.1.0: the trace that sample(0) makes, and three answers.
  const trace_or_error read = from_token(
      "heddle1.iSIEf3jaHZDRcoIwEEUVfySTZ4sgIC3f4kxnTRbIGAjdRGzr-Lf9kO76tjlnkty7f9lD94EmSLrTI1rrUSUCg6rUe70i"
      "RRdmVkVe5gWTy815--msoPJYwcVYptHgDOQC098QckMhRrRvBryPrBcgmDDxY7p76DusyIM-iqEwEEY59uCICaiz_rqFhPas1RV_"
      "2MBsz_MK_ob6yX9xvISDiJiAVuwqSYDImcr3uj61dV20VVt8NE15KptXC-uMFIwmLKikHl-5j0jIkBZzWAKlwwTOX8J3PnatlB9h"
      "HmQpISbFat4rSc5icFEe48m6AV9zUcgmsJed1M2plUQJF-4l4JltdttdlmXbzT9_yXAK");
  ASSERT_TRUE(read.value) << read.error;
  trace recorded = sample(0);
  recorded.gist = "";
  recorded.answers = {{choice_kind::actor, 3, 2}, {choice_kind::visible, 2, 1}, {choice_kind::visible, 2, 0}};
  EXPECT_EQ(*read.value, recorded);
}

TEST(trace, every_changed_byte_and_every_cut_of_a_token_is_recognised) {
  const std::string token = to_token(sample(20));
  for (size_t length = 0; length < token.size(); ++length) {
    const trace_or_error read = from_token(token.substr(0, length));
    EXPECT_FALSE(read.value) << length;
    expect_one_line(read);
  }
  for (size_t place = 0; place < token.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = token;
      changed[place] = static_cast<char>(byte);
      if (changed == token) continue;
      const trace_or_error read = from_token(changed);
      ASSERT_FALSE(read.value) << place << " " << byte;
      expect_one_line(read);
    }
  }
}

TEST(trace, every_changed_byte_and_every_cut_of_a_file_is_an_error_or_a_valid_trace) {
  const std::string text = to_json(sample(4));
  for (size_t length = 0; length + 2 < text.size(); ++length) {
    const trace_or_error read = from_json(text.substr(0, length));
    EXPECT_FALSE(read.value) << length;
    expect_one_line(read);
  }
  for (size_t place = 0; place < text.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[place] = static_cast<char>(byte);
      const trace_or_error read = from_json(changed);
      expect_one_line(read);
      if (!read.value) continue;
      for (const answer& each : read.value->answers) ASSERT_LT(each.picked, each.count);
      EXPECT_TRUE(from_token(to_token(*read.value)).value);
    }
  }
}

TEST(trace, wrong_fields_are_named) {
  const auto error_of = [](const std::string& from, const std::string& to) {
    std::string text = to_json(sample(1));
    const size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return from_json(text.replace(place, from.size(), to)).error;
  };
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& message) {
    EXPECT_EQ(error_of(from, to), "this is no valid trace: " + message);
  };
  expect("\"version\"", "\"virsion\"", "it has no \"version\"");
  expect("heddle trace 1", "heddle trace 9", "its \"format\" is not \"heddle trace 1\"");
  expect("\"0.1.0\"", "7", "\"version\" must be a string");
  expect("\"0.1.0\"", "[]", "an array stands where none belongs");
  expect("\"0.1.0\"", "{}", "an object stands where none belongs");
  expect("\"steps\": 1234", "\"steps\": -1", "\"steps\" must be a whole number from 0");
  expect("\"steps\": 1234", "\"steps\": 1.5", "\"steps\" must be a whole number from 0");
  expect("\"steps\": 1234", "\"seed\": 1234", "a key stands there twice");
  expect("scope race", "fine", "its \"verdict\" is not one that this version knows");
  expect("00abcdef01234567", "abcdef01234567", "\"digest\" must be 16 hexadecimal digits");
  expect("\"waves\": \"2\"", "\"waves\": 2", "the values of \"parameters\" must be strings");
  expect("\"answers\": [", "\"answers\": [7, ", "\"answers\" must hold strings");
  expect("\"answers\": [", "\"answers\": [\"king 0/2\", ", "an answer is of a kind that this version does not know");
  expect("\"answers\": [", "\"answers\": [\"actor 2/2\", ", "an answer is outside its choice");
  expect("\"answers\": [", "\"answers\": [\"actor 0/1\", ", "an answer is outside its choice");
  expect("\"answers\": [", "\"answers\": [\"actor 0/2 x\", ", "an answer is not of the form \"actor 1/3 x5\"");
  expect("\"answers\": [", "\"answers\": [\"actor 0/2 x0\", ", "it has too many answers");
  expect("\"answers\": [", "\"answers\": [\"actor 0/2 x99999999999\", ", "it has too many answers");
}

TEST(trace, hostile_texts_are_one_line_and_no_great_allocation) {
  const std::vector<std::string> hostile = {
      "",
      "null",
      "7",
      "{}",
      std::string(1'000'000, '['),
      std::string(1'000'000, '{'),
      "{\"answers\": " + std::string(1'000'000, '[') + "}",
      "{\"a\": \"" + std::string(1'000'000, 'x'),
      std::string(1'000'000, '\0'),
      std::string("\xff\xfe\0\0", 4),
  };
  for (const std::string& text : hostile) {
    const trace_or_error read = from_json(text);
    EXPECT_FALSE(read.value);
    expect_one_line(read);
    for (const std::string begin : {"heddle1.", "heddle2."}) {
      const trace_or_error as_token = from_token(begin + text);
      EXPECT_FALSE(as_token.value);
      expect_one_line(as_token);
    }
  }
}

TEST(trace, a_token_that_would_decompress_without_bound_is_refused) {
  const std::string zeros(80u << 20, '\0');
  uLongf size = compressBound(zeros.size());
  std::string packed(size, '\0');
  ASSERT_EQ(compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(zeros.data()),
                      zeros.size(), 9),
            Z_OK);
  packed.resize(size);
  const uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((sum >> shift) & 255);
  bytes += packed;
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string token = "heddle1.";
  bytes.resize((bytes.size() + 2) / 3 *
               3);  // trailing zeros change the checksum: a refusal as well, but not the one meant
  ASSERT_GE(bytes.size(), packed.size() + 4);
  const size_t meant = packed.size() + 4;
  for (size_t bit = 0; bit < meant * 8; bit += 6) {
    uint32_t digit = 0;
    for (size_t next = bit; next < bit + 6; ++next)
      digit =
          digit * 2 + (next < meant * 8 ? (static_cast<unsigned char>(bytes[next / 8]) >> (7 - next % 8)) & 1u : 0u);
    token += alphabet[digit];
  }
  EXPECT_EQ(from_token(token).error, "this token is no valid trace: its content cannot be decompressed");
}

TEST(trace_file, is_written_whole_and_read_as_file_or_as_file_with_a_token) {
  const temporary_folder folder;
  const trace recorded = sample(10);
  ASSERT_FALSE(write_trace(recorded, folder / "x.heddle.json"));
  EXPECT_EQ(read_trace((folder / "x.heddle.json").string()).value, recorded);
  std::ofstream(folder / "token.txt") << to_token(recorded) << '\n';
  EXPECT_EQ(read_trace((folder / "token.txt").string()).value, recorded);
  EXPECT_EQ(read_trace(to_token(recorded)).value, recorded);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 2u) << "no temporary file is left";
}

TEST(whole_file, is_written_to_a_pipe_as_it_stands) {
  const temporary_folder folder;
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(cannot_write(pipe)) << "which waits for no reader";
  std::string read;
  std::thread reader([&] { read = read_whole(pipe, 1 << 20).text.value_or(""); });
  EXPECT_FALSE(write_whole(pipe, "text"));
  reader.join();
  EXPECT_EQ(read, "text");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(whole_file, is_written_where_symbolic_links_lead) {
  const temporary_folder folder;
  std::filesystem::create_directory(folder / "kept");
  std::filesystem::create_symlink("kept/second", folder / "first");
  std::filesystem::create_symlink("file", folder / "kept/second");
  for (const char* text : {"one", "another"}) {
    EXPECT_FALSE(cannot_write(folder / "first"));
    EXPECT_FALSE(write_whole(folder / "first", text));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "first") && std::filesystem::is_symlink(folder / "kept/second"));
    EXPECT_EQ(read_whole(folder / "kept/file", 100).text, text);
  }
  std::filesystem::create_symlink("round", folder / "round");
  EXPECT_EQ(write_whole(folder / "round", ""),
            "cannot write \"" + (folder / "round").string() + "\": Too many levels of symbolic links");
}

TEST(whole_file, of_a_name_that_cannot_be_written_is_refused_before_and_then) {
  const temporary_folder folder;
  for (const auto& [file, reason] :
       {std::pair(folder / "missing/file", "No such file or directory"), std::pair(folder.path(), "Is a directory")}) {
    const std::string line = "cannot write \"" + file.string() + "\": " + reason;
    EXPECT_EQ(cannot_write(file), line);
    EXPECT_EQ(write_whole(file, ""), line);
  }
}

TEST(whole_file, is_read_up_to_a_size) {
  const temporary_folder folder;
  ASSERT_FALSE(write_whole(folder / "file", std::string(1 << 20, 'x')));
  EXPECT_EQ(read_whole(folder / "file", 1 << 20).text.value_or("").size(), size_t{1} << 20);
  EXPECT_EQ(read_whole(folder / "file", (1 << 20) - 1).text, std::nullopt);
  EXPECT_EQ(read_whole("/dev/zero", 2 << 20).reason, "it is larger than 2 MiB");
  EXPECT_EQ(read_whole(folder.path(), 100).reason, "Is a directory");
}

TEST(trace_file, what_cannot_be_read_or_written_is_one_line) {
  const temporary_folder folder;
  const auto failed = write_trace(sample(1), folder.path() / "missing" / "x.heddle.json");
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->find("No such file or directory"), std::string::npos) << *failed;
  EXPECT_FALSE(read_trace(folder.path().string()).value);
  const trace_or_error missing = read_trace("nothing");
  EXPECT_EQ(missing.error,
            "there is no file \"nothing\", and it is no token either (a token begins with \"heddle2.\")");
  std::ofstream(folder / "cut.heddle.json") << to_json(sample(10)).substr(0, 200);
  EXPECT_NE(read_trace((folder / "cut.heddle.json").string()).error.find("damaged or cut off near byte 2"),
            std::string::npos);
}

TEST(trace_file, a_full_disk_is_one_line) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  // The name of the temporary file cannot be predicted to be a device, but its folder can be one that refuses.
  const auto failed = write_trace(sample(1), "/dev/full/x.heddle.json");
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->find("cannot write"), std::string::npos);
}

}  // namespace
}  // namespace heddle::scheduler

//===- CheckpointTest.cpp - Damaged files end in one error ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Training.h"

#include "runtime/base/files.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

class Checkpoint : public Training {
protected:
  Checkpoint() : program(gpt({2, 2}, {0, 1}, true)) {}
  void SetUp() override {
    Training::SetUp();
    train(program, {"--iterations", "1", "--save", first.path});
    bytes = first.read();
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    header = bytes.substr(8, length);
    tensors = bytes.substr(8 + length);
  }
  /// Writes a file with a different header or data; returns the error of
  /// reading it.
  std::string errorWith(const std::string &newHeader,
                        const std::string &newTensors) {
    uint64_t length = newHeader.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    return errorOf(file + newHeader + newTensors);
  }
  std::string errorOf(const std::string &file) {
    second.write(file);
    Outcome outcome =
        run(program, {"--data", data.path, "--resume", second.path});
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1)
        << outcome.err;
    return outcome.err;
  }
  std::string replaced(const std::string &from, const std::string &to) {
    std::string text = header;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return text.replace(at, from.size(), to);
  }
  static void expectIn(const std::string &part, const std::string &text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  Program program;
  std::string bytes, header, tensors;
};

TEST_F(Checkpoint, Missing) {
  Outcome outcome =
      run(program, {"--data", data.path, "--resume", "/nonexistent/file"});
  EXPECT_EQ(outcome.code, 1);
  expectIn("cannot read checkpoint '/nonexistent/file'", outcome.err);
}
TEST_F(Checkpoint, Folder) {
  Outcome outcome = run(program, {"--data", data.path, "--resume", "/tmp"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "error: checkpoint '/tmp': the folder has neither "
            "model.safetensors nor model.safetensors.index.json\n");
}
TEST_F(Checkpoint, Empty) { expectIn("it has 0 bytes", errorOf("")); }
TEST_F(Checkpoint, HeaderLongerThanTheFile) {
  expectIn("truncated", errorOf(bytes.substr(0, 100)));
}
TEST_F(Checkpoint, HugeHeaderLength) {
  expectIn("truncated", errorOf(std::string(8, '\xff') + bytes));
}
TEST_F(Checkpoint, TruncatedData) {
  expectIn("it is truncated", errorOf(bytes.substr(0, bytes.size() - 4)));
}
TEST_F(Checkpoint, MoreDataThanTensors) {
  expectIn("the tensors end at byte", errorOf(bytes + "more"));
}
TEST_F(Checkpoint, NoJson) {
  expectIn("byte 0: expected '{'", errorWith("what is this", tensors));
}
TEST_F(Checkpoint, TwoValues) {
  expectIn("more than one value", errorWith(header + "{}", tensors));
}
TEST_F(Checkpoint, OtherDtype) {
  expectIn("takes bytes", errorWith(replaced("\"F32\"", "\"F16\""), tensors));
  expectIn("is I32 ", errorWith(replaced("\"F32\"", "\"I32\""), tensors));
  expectIn("unknown dtype 'X'",
           errorWith(replaced("\"F32\"", "\"X\""), tensors));
}
TEST_F(Checkpoint, OtherShape) {
  expectIn("the model needs F32 [256, 16]",
           errorWith(replaced("\"wte.weight\":{\"dtype\":\"F32\",\"shape\":[256"
                              ",16]",
                              "\"wte.weight\":{\"dtype\":\"F32\",\"shape\":[16,"
                              "256]"),
                     tensors));
}
TEST_F(Checkpoint, HugeShape) {
  expectIn(
      "more than 2^60 bytes",
      errorWith(replaced("[256,16]", "[99999999999,99999999999]"), tensors));
}
TEST_F(Checkpoint, NegativeShape) {
  expectIn("expected a whole number",
           errorWith(replaced("[256,16]", "[-256,16]"), tensors));
}
TEST_F(Checkpoint, UnknownName) {
  expectIn("it has no tensor 'wte.weight'",
           errorWith(replaced("\"wte.weight\"", "\"wtf.weight\""), tensors));
}
TEST_F(Checkpoint, AdditionalName) {
  expectIn("'extra', which the model does not have",
           errorWith(replaced("\"wte.weight\":",
                              "\"extra\":{\"dtype\":\"F32\",\"shape\":[0],"
                              "\"data_offsets\":[0,0]},\"wte.weight\":"),
                     tensors));
}
TEST_F(Checkpoint, NameTwice) {
  expectIn("appears twice",
           errorWith(replaced("\"wte.weight\":",
                              "\"wte.weight\":{\"dtype\":\"F32\",\"shape\":[0],"
                              "\"data_offsets\":[0,0]},\"wte.weight\":"),
                     tensors));
}
TEST_F(Checkpoint, Overlap) {
  // Two tensors of the same size are given the same bytes.
  auto offsets = [&](const char *name) {
    size_t begin = header.find("\"data_offsets\":", header.find(name));
    return header.substr(begin, header.find('}', begin) - begin);
  };
  std::string m = offsets("\"optimizer.m.wte.weight\"");
  std::string v = offsets("\"optimizer.v.wte.weight\"");
  ASSERT_NE(m, v);
  expectIn("the one before ends", errorWith(replaced(v, m), tensors));
}
TEST_F(Checkpoint, OtherFormat) {
  expectIn(
      "rondo-checkpoint/1",
      errorWith(replaced("rondo-checkpoint/1", "rondo-checkpoint/2"), tensors));
  expectIn("which is not a number",
           errorWith(replaced("\"step\":\"1\"", "\"step\":\"x\""), tensors));
}
/// The notes of a resumed run about its data.
TEST_F(Checkpoint, DataAreComparedBySizesSamplesAndTime) {
  auto notesOf = [&](const std::string &header) {
    uint64_t length = header.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    second.write(file + header + tensors);
    const Outcome outcome =
        run(program, {"--data", data.path, "--resume", second.path,
                      "--iterations", "2", "--decay", "8"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const size_t begin = outcome.out.find("note: ");
    return begin == std::string::npos
               ? ""
               : outcome.out.substr(begin,
                                    outcome.out.find('\n', begin) - begin);
  };
  EXPECT_EQ(notesOf(header), "");
  // A checkpoint of a program that hashed all tokens.
  const size_t time = header.find("\"data_time\"");
  ASSERT_NE(time, std::string::npos);
  std::string old = header;
  old.erase(time, header.find("\"format\"") - time);
  EXPECT_EQ(notesOf(old),
            "note: checkpoint '" + second.path +
                "' identifies its data by a hash of all tokens, which is not "
                "computed any more: the data were not compared");
  const timespec times[2] = {{100, 0}, {100, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, data.path.c_str(), times, 0), 0);
  EXPECT_EQ(notesOf(header),
            "note: the data were modified at another time than those of "
            "checkpoint '" +
                second.path +
                "'; their sizes and samples are equal, the rest was not "
                "compared");
  data.write(sampleText() + "more");
  EXPECT_EQ(notesOf(header),
            "note: the data differ from those of checkpoint '" + second.path +
                "'");
}
TEST_F(Checkpoint, StepBeyond63Bits) {
  expectIn(
      "its metadata give step 9223372036854775809, which is too large",
      errorWith(replaced("\"step\":\"1\"", "\"step\":\"9223372036854775809\""),
                tensors));
}
// A rename would replace a pipe or device, such as /dev/null, with a file.
TEST_F(Checkpoint, PipeIsWrittenInPlace) {
  const std::string path = first.path + ".pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  {
    NewFile file(path, "pipe");
    file.write("ab", 2);
    file.commit();
  }
  char text[3] = {};
  EXPECT_EQ(read(reader, text, 2), 2);
  EXPECT_STREQ(text, "ab");
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  close(reader);
  std::remove(path.c_str());
}
// Like /dev/stdout when standard output is a file: the name of an open file
// must not be replaced. Its content stays before the new one.
TEST_F(Checkpoint, OpenFileIsWrittenInPlace) {
  const std::string path = first.path + ".open";
  int open = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(write(open, "before ", 7), 7);
  {
    NewFile file("/proc/self/fd/" + std::to_string(open), "open file");
    file.write("ab", 2);
    file.commit();
  }
  char text[10] = {};
  EXPECT_EQ(pread(open, text, sizeof text - 1, 0), 9);
  EXPECT_STREQ(text, "before ab");
  close(open);
  std::remove(path.c_str());
}
// A full disk costs the run its intermediate checkpoint, but not the work since
// the previous one.
TEST_F(Checkpoint, FullDiskEndsTheRunAtItsEndOnly) {
  Outcome outcome = run(program, {"--data", data.path, "--iterations", "3",
                                  "--save-every", "2", "--save", "/dev/full"});
  const std::string message =
      "cannot write checkpoint '/dev/full': No space left on device";
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: " + message + "\n");
  expectIn("iteration 2/3", outcome.out);
  expectIn("\nnote: " + message + "; continuing without it\niteration 3/3",
           outcome.out);
}
TEST_F(Checkpoint, CannotBeWritten) {
  Outcome outcome =
      run(program, {"--data", data.path, "--quiet", "--iterations", "1",
                    "--save", "/nonexistent/folder/file"});
  EXPECT_EQ(outcome.code, 1);
  expectIn("cannot write checkpoint '/nonexistent/folder/file'", outcome.err);
}

} // namespace

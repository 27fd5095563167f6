//===- SecretTest.cpp - What the processes of a run have in common --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StoreFixture.h"

#include "runtime/launch/handshake.h"
#include "runtime/launch/secret.h"
#include "runtime/launch/socket.h"
#include "runtime/launch/store_server.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;
using rondo::runtime::test::Endings;
using rondo::runtime::test::StoreTest;
using rondo::runtime::test::TemporaryFile;

namespace {

const std::string secret = "sixteen letters.", other = "sixteen letters!";

const char *nothing(const char *) { return nullptr; }

std::string errorOf(const std::string &file, const Environment &environment) {
  try {
    return secretFrom(file, environment);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::Usage);
    return error.what();
  }
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

std::string digitsOf(const Proof &proof) {
  std::string digits;
  for (unsigned char byte : proof) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", byte);
    digits += text;
  }
  return digits;
}

TEST(Secret, HmacIsThatOfRfc4231) {
  // Test cases 2 and 6. The latter's key is longer than a block of SHA-256.
  EXPECT_EQ(digitsOf(proofOf("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(digitsOf(proofOf(
                std::string(131, '\xaa'),
                "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Secret, ProofsAreComparedToTheLastByte) {
  const Proof proof = proofOf("key", "text");
  Proof other = proof;
  EXPECT_TRUE(areEqual(proof, other));
  other.back() ^= 1;
  EXPECT_FALSE(areEqual(proof, other));
}

TEST(Secret, IsReadFromAFileOfOnesOwn) {
  TemporaryFile file;
  file.write(secret + "\n");
  ASSERT_EQ(chmod(file.path.c_str(), 0600), 0);
  EXPECT_EQ(secretFrom(file.path, nothing), secret);
  // The file comes first.
  EXPECT_EQ(secretFrom(file.path, [](const char *) { return "another"; }),
            secret);
  for (mode_t mode : {0640, 0604, 0620, 0601}) {
    ASSERT_EQ(chmod(file.path.c_str(), mode), 0);
    const std::string error = errorOf(file.path, nothing);
    EXPECT_TRUE(contains(error, "is open to others")) << error;
    EXPECT_FALSE(contains(error, secret)) << error;
  }
}

TEST(Secret, MustBeLongEnoughAndThere) {
  EXPECT_EQ(secretFrom("", nothing), "");
  EXPECT_TRUE(
      contains(errorOf("", [](const char *) { return ""; }), "has 0 bytes"));
  EXPECT_TRUE(
      contains(errorOf("", [](const char *) { return "fifteen letters"; }),
               "has 15 bytes, but a secret has at least 16"));
  EXPECT_TRUE(
      contains(errorOf("/no/such/file", nothing), "No such file or directory"));
  EXPECT_TRUE(contains(errorOf("/dev/zero", nothing), "is not a file"));
  TemporaryFile large;
  large.write(std::string(5000, 'x'));
  EXPECT_TRUE(
      contains(errorOf(large.path, nothing), "has more than 4096 bytes"));
}

TEST(Secret, MadeOnesDiffer) {
  EXPECT_EQ(makeSecret().size(), 64u);
  EXPECT_NE(makeSecret(), makeSecret());
}

TEST(MeetingPlace, OnlyItsOwnerReadsIt) {
  TemporaryFile file;
  writePlace(file.path, {{"fd00::7", 29500}, secret + "x"});
  struct stat status{};
  ASSERT_EQ(stat(file.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  // Words end at blanks.
  writePlace(file.path, {{"fd00::7", 29500}, "word"});
  const std::optional<MeetingPlace> place = readPlace(file.path);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->address.host, "fd00::7");
  EXPECT_EQ(place->address.port, 29500);
  EXPECT_EQ(place->secret, "word");
  EXPECT_FALSE(readPlace(file.path + ".absent"));
  // Half of it is nothing.
  file.write("fd00::7 29500");
  EXPECT_FALSE(readPlace(file.path));
}

TEST(MeetingPlace, NoLinkIsFollowed) {
  TemporaryFile target, link;
  target.write("1.2.3.4 5 -\n");
  std::remove(link.path.c_str());
  ASSERT_EQ(symlink(target.path.c_str(), link.path.c_str()), 0);
  EXPECT_THROW(readPlace(link.path), Error);
  // A link at the temporary name is replaced, and its target stays.
  const std::string temporary =
      target.path + "." + std::to_string(getpid()) + ".tmp";
  TemporaryFile victim;
  victim.write("precious");
  ASSERT_EQ(symlink(victim.path.c_str(), temporary.c_str()), 0);
  writePlace(target.path, {{"h", 1}, ""});
  EXPECT_EQ(victim.read(), "precious");
  EXPECT_EQ(readPlace(target.path)->address.host, "h");
}

/// Exit of the processes of a run with the given secrets.
class SecretsTest : public StoreTest {
protected:
  SecretsTest() {
    where.file.clear();
    where.host = "127.0.0.1";
    where.port = portOf(listenOn(0, true));
  }
  Endings runWith(const Endings &secrets) {
    return run(
        static_cast<int>(secrets.size()),
        [](Store &store, int) { store.leave(); },
        [&](StoreParams &params) {
          params.secret = secrets[params.process];
          params.joinSeconds = 0.5;
          params.note = [this](const std::string &text) {
            std::lock_guard<std::mutex> lock(mutex);
            noted += text + "\n";
          };
        });
  }
  std::string noted;
};

TEST_F(SecretsTest, WhoKnowsItIsLetIn) {
  EXPECT_EQ(runWith({secret, secret, secret}),
            (Endings{"fine", "fine", "fine"}));
  EXPECT_EQ(noted, "");
}

TEST_F(SecretsTest, WhoKnowsAnotherIsNotLetIn) {
  const Endings endings = runWith({secret, other});
  EXPECT_EQ(endings[0], "peer 75");
  EXPECT_EQ(endings[1],
            "rank 1 is not let in at 127.0.0.1:" + std::to_string(where.port) +
                ": this process and rank 0 have different secrets");
  EXPECT_EQ(said, "rank 1 did not arrive within 0.5 s\n");
  const std::string once = "refused a connection from 127.0.0.1, which does "
                           "not know the secret of this run\n";
  EXPECT_EQ(noted.substr(0, once.size()), once);
  EXPECT_TRUE(contains(noted, " connections from 127.0.0.1, which"));
}

TEST_F(SecretsTest, WhoKnowsNoneIsNotLetIn) {
  const Endings endings = runWith({secret, ""});
  EXPECT_TRUE(contains(endings[1], "rank 0 has a secret, but this process has "
                                   "none: set RONDO_SECRET or give "
                                   "--secret-file"))
      << endings[1];
  EXPECT_TRUE(contains(noted, "refused a connection from 127.0.0.1"));
}

TEST_F(SecretsTest, WhoHasOneDoesNotJoinAnOpenRun) {
  const Endings endings = runWith({"", secret});
  EXPECT_TRUE(contains(endings[1], "this process has a secret, but what "
                                   "listens there asks for none"))
      << endings[1];
}

TEST_F(SecretsTest, ProcessZeroTellsItsOwnByAFile) {
  where.file = file.path;
  std::mutex lock;
  Endings secrets;
  EXPECT_EQ(run(2,
                [&](Store &store, int) {
                  {
                    std::lock_guard<std::mutex> guard(lock);
                    secrets.push_back(store.secret());
                  }
                  store.leave();
                }),
            (Endings{"fine", "fine"}));
  ASSERT_EQ(secrets.size(), 2u);
  EXPECT_EQ(secrets[0].size(), 64u);
  EXPECT_EQ(secrets[0], secrets[1]);
}

} // namespace

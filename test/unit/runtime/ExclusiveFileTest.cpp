//===- ExclusiveFileTest.cpp - Files that nobody else has made ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Support.h"

#include "runtime/base/error.h"
#include "runtime/base/files.h"

#include "gtest/gtest.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;
using rondo::runtime::test::TemporaryFile;

namespace {

mode_t modeOf(const std::string &path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

std::string temporaryOf(const std::string &path) {
  return path + ".tmp." + std::to_string(getpid());
}

TEST(ExclusiveFile, NobodyElseOpensItBeforeItIsComplete) {
  TemporaryFile file;
  const mode_t before = umask(022);
  {
    NewFile written(file.path, "a file");
    written.write("text", 4);
    EXPECT_EQ(modeOf(temporaryOf(file.path)), 0600u);
    written.commit();
  }
  EXPECT_EQ(modeOf(file.path), 0644u);
  umask(0177);
  {
    NewFile written(file.path, "a file");
    written.commit();
  }
  umask(before);
  EXPECT_EQ(modeOf(file.path), 0600u);
}

/// A pipe at the name of a file with a secret may be somebody else's.
TEST(ExclusiveFile, WhatOnlyItsOwnerMayReadReplacesAPipe) {
  TemporaryFile file;
  std::remove(file.path.c_str());
  ASSERT_EQ(mkfifo(file.path.c_str(), 0666), 0);
  const mode_t before = umask(022);
  writeTextFile(file.path, "a file", "secret", Readers::Owner);
  umask(before);
  struct stat status{};
  ASSERT_EQ(lstat(file.path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISREG(status.st_mode));
  EXPECT_EQ(modeOf(file.path), 0600u);
  EXPECT_EQ(file.read(), "secret");
}

TEST(ExclusiveFile, ALinkAtItsTemporaryNameIsNotFollowed) {
  TemporaryFile file, victim;
  victim.write("precious");
  ASSERT_EQ(symlink(victim.path.c_str(), temporaryOf(file.path).c_str()), 0);
  NewFile written(file.path, "a file");
  written.write("text", 4);
  written.commit();
  EXPECT_EQ(victim.read(), "precious");
  EXPECT_EQ(file.read(), "text");
}

TEST(ExclusiveFile, AFolderAtItsTemporaryNameIsAnError) {
  TemporaryFile file;
  ASSERT_EQ(mkdir(temporaryOf(file.path).c_str(), 0700), 0);
  EXPECT_THROW(NewFile(file.path, "a file"), Error);
  rmdir(temporaryOf(file.path).c_str());
}

TEST(ExclusiveFile, OnesOwnLinkIsFollowedAndThatOfAnotherUserIsNot) {
  TemporaryFile target, link;
  std::remove(link.path.c_str());
  ASSERT_EQ(symlink(target.path.c_str(), link.path.c_str()), 0);
  int descriptor = openOwnFile(link.path, false);
  EXPECT_GE(descriptor, 0);
  close(descriptor);
  if (lchown(link.path.c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "only root gives links to other users";
  descriptor = openOwnFile(link.path, false);
  EXPECT_EQ(errno, ELOOP);
  EXPECT_EQ(descriptor, -1);
}

} // namespace

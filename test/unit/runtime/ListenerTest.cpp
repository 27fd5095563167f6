//===- ListenerTest.cpp - Who is let in, and what others cost -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The door and those who call take turns in one thread; the time is a number.
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/handshake.h"
#include "runtime/launch/socket.h"

#include "gtest/gtest.h"

#include <cstring>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace rondo::runtime;

namespace {

constexpr int64_t second = 1'000'000'000;
const std::string secret = "sixteen letters.";

class ListenerTest : public testing::Test {
protected:
  ListenerTest() {
    params.secret = secret;
    params.note = [this](const std::string &text) { noted += text + "\n"; };
  }

  Listener &door() {
    if (!made) {
      std::vector<Socket> listeners = listenAt({loopbackAddress}, 0);
      port = portOf(listeners.front());
      made = std::make_unique<Listener>(std::move(listeners), params);
    }
    return *made;
  }
  /// Connects, and gets the challenge.
  Socket call(Challenge &challenge) {
    door();
    std::string why;
    Socket socket = connectTo({loopbackAddress, port}, 10, why);
    EXPECT_TRUE(socket) << why;
    turn();
    EXPECT_EQ(
        recv(socket.descriptor(), &challenge, sizeof challenge, MSG_WAITALL),
        static_cast<ssize_t>(sizeof challenge));
    return socket;
  }
  void turn(int64_t passed = 0) {
    now += passed;
    std::vector<pollfd> waiting;
    door().addTo(waiting, now);
    poll(waiting.data(), waiting.size(), 0);
    for (Socket &socket : door().admit(waiting, now))
      admitted.push_back(std::move(socket));
  }
  /// Answer of the listener; isRight is 2 if it has hung up.
  Verdict heard(const Socket &socket) {
    Verdict verdict{2, {}};
    const ssize_t count =
        recv(socket.descriptor(), &verdict, sizeof verdict, MSG_DONTWAIT);
    if (count != sizeof verdict)
      verdict.isRight = count == 0 || errno != EAGAIN ? 2 : 3;
    return verdict;
  }
  void say(const Socket &socket, const void *data, size_t bytes) {
    EXPECT_TRUE(
        sendAll(socket, std::string(static_cast<const char *>(data), bytes)));
  }

  ListenerParams params;
  std::string noted;
  int port = 0;
  int64_t now = 0;
  std::vector<Socket> admitted;

private:
  std::unique_ptr<Listener> made;
};

TEST_F(ListenerTest, WhoKnowsTheSecretComesInAndNobodyElse) {
  door();
  for (const std::string &tried : {secret, secret + "x", std::string()}) {
    Entry entry = Entry::Silent;
    std::string why;
    Socket socket = connectTo({loopbackAddress, port}, 10, why);
    std::thread caller([&] { entry = enter(socket, tried, Line::Store, 10); });
    const size_t before = admitted.size();
    while (door().strangers() == 0)
      turn();
    while (door().strangers() > 0)
      turn();
    caller.join();
    EXPECT_EQ(entry, tried == secret ? Entry::Admitted
                     : tried.empty() ? Entry::SecretMissing
                                     : Entry::WrongSecret);
    EXPECT_EQ(admitted.size() - before, tried == secret ? 1u : 0u);
  }
  EXPECT_EQ(noted, "refused a connection from 127.0.0.1, which does not know "
                   "the secret of this run\n");
  noted.clear();
  door().sayCounts();
  EXPECT_EQ(noted, "refused 2 connections from 127.0.0.1, which does not know "
                   "the secret of this run\n");
}

TEST_F(ListenerTest, AConnectionForAnotherPurposeStaysOutside) {
  params.line = Line::Messages;
  door();
  std::string why;
  Socket socket = connectTo({loopbackAddress, port}, 10, why);
  Entry entry = Entry::Silent;
  std::thread caller([&] { entry = enter(socket, secret, Line::Store, 10); });
  while (door().strangers() == 0)
    turn();
  while (door().strangers() > 0)
    turn();
  caller.join();
  EXPECT_EQ(entry, Entry::WrongSecret);
}

TEST_F(ListenerTest, NoAnswerServesTwice) {
  // Records what somebody who knows the secret says.
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Socket ours(pair[0]), theirs(pair[1]);
  Challenge challenge{};
  Socket first = call(challenge);
  say(theirs, &challenge, sizeof challenge);
  std::thread caller([&] { (void)enter(ours, secret, Line::Store, 10); });
  ChallengeAnswer answer{};
  ASSERT_EQ(recv(theirs.descriptor(), &answer, sizeof answer, MSG_WAITALL),
            static_cast<ssize_t>(sizeof answer));
  theirs.shutDown();
  caller.join();
  say(first, &answer, sizeof answer);
  turn();
  const Verdict right = heard(first);
  EXPECT_EQ(right.isRight, 1u);
  EXPECT_EQ(admitted.size(), 1u);
  // The same words on another connection, and the door's own words.
  Challenge again{};
  Socket second = call(again);
  EXPECT_NE(again.nonce, challenge.nonce);
  say(second, &answer, sizeof answer);
  Socket third = call(again);
  const ChallengeAnswer mirrored = {again.nonce, right.proof};
  say(third, &mirrored, sizeof mirrored);
  turn();
  EXPECT_EQ(heard(second).isRight, 0u);
  EXPECT_EQ(heard(third).isRight, 0u);
  EXPECT_EQ(admitted.size(), 1u);
}

TEST_F(ListenerTest, AProofOfAnImpostorIsRefused) {
  // Says yes to everybody, without the secret.
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Socket ours(pair[0]), theirs(pair[1]);
  const Challenge challenge = makeChallenge("whatever it may be");
  say(theirs, &challenge, sizeof challenge);
  const Verdict yes = {1, {}};
  say(theirs, &yes, sizeof yes);
  EXPECT_EQ(enter(ours, secret, Line::Store, 10), Entry::WrongSecret);
}

TEST_F(ListenerTest, SilentAndSlowCallersAreSentAway) {
  Challenge challenge{};
  Socket silent = call(challenge), slow = call(challenge);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(door().strangers(), 2u);
    say(slow, "x", 1);
    turn(second);
  }
  turn(1);
  EXPECT_EQ(door().strangers(), 0u);
  EXPECT_EQ(heard(silent).isRight, 2u);
  EXPECT_EQ(heard(slow).isRight, 2u);
  EXPECT_EQ(admitted.size(), 0u);
  EXPECT_EQ(noted, "");
}

TEST_F(ListenerTest, OfManyTheOldestGo) {
  params.maxStrangers = 8;
  Challenge challenge{};
  std::vector<Socket> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(call(challenge));
    EXPECT_LE(door().strangers(), 8u);
  }
  EXPECT_EQ(heard(all.front()).isRight, 2u);
  EXPECT_EQ(heard(all.back()).isRight, 3u);
}

TEST_F(ListenerTest, WithoutDescriptorsTheOldestGoAndTheDoorRests) {
  Challenge challenge{};
  Socket first = call(challenge);
  std::string why;
  Socket next = connectTo({loopbackAddress, port}, 10, why);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // The smallest free number.
  const int free = dup(0);
  close(free);
  const rlimit none = {static_cast<rlim_t>(free), limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  turn();
  EXPECT_FALSE(door().isOutOfFiles());
  EXPECT_EQ(door().strangers(), 0u);
  std::vector<pollfd> waiting;
  door().addTo(waiting, now);
  EXPECT_TRUE(waiting.empty());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  turn(second);
  EXPECT_EQ(door().strangers(), 1u);
}

TEST_F(ListenerTest, RandomBytesAreRefused) {
  Challenge challenge{};
  Socket socket = call(challenge);
  std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  request.resize(1000, 'x');
  say(socket, request.data(), request.size());
  turn();
  EXPECT_EQ(door().strangers(), 0u);
  EXPECT_EQ(admitted.size(), 0u);
}

TEST_F(ListenerTest, AnOpenDoorAsksForNothing) {
  params.secret.clear();
  Challenge challenge{};
  Socket socket = call(challenge);
  EXPECT_EQ(challenge.wantsProof, 0u);
  EXPECT_EQ(challenge.nonce, Nonce{});
  EXPECT_EQ(admitted.size(), 1u);
}

TEST(Listen, OnePortOfAllAddresses) {
  std::vector<Socket> two = listenAt({"127.0.0.1", "127.0.0.2"}, 0);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(portOf(two[0]), portOf(two[1]));
  std::string why;
  EXPECT_TRUE(connectTo({"127.0.0.2", portOf(two[0])}, 5, why)) << why;
  EXPECT_FALSE(connectTo({"127.0.0.3", portOf(two[0])}, 5, why));
  EXPECT_TRUE(listenAt({"127.0.0.2"}, portOf(two[0])).empty());
  // Addresses of documentation, which no machine has.
  EXPECT_TRUE(listenAt({"192.0.2.1"}, 0).empty());
  EXPECT_TRUE(addressesNamed("192.0.2.1").empty());
  EXPECT_TRUE(addressesNamed("localhost").empty());
}

} // namespace

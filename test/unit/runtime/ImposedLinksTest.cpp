//===- ImposedLinksTest.cpp - Links that change ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/trainer/link_emulation.h"
#include "runtime/trainer/link_trace_reader.h"
#include "runtime/transport/link_trace.h"

#include "gtest/gtest.h"

using namespace rondo::runtime;

namespace {

ImposedLink link(int64_t latencyNs, int64_t bytesPerUs, int64_t other = 0) {
  return {latencyNs, bytesPerUs, other};
}

TEST(SerialLink, CarriesOneMessageAfterAnother) {
  SerialLink serial(LinkTimeline(link(500, 100)), SerialLink::By::Time);
  // 1,000 bytes take 10 us.
  SerialLink::Passage first = serial.carry(1000, 0);
  EXPECT_EQ(first.carriedNs, 10000);
  EXPECT_EQ(first.arrivalNs, 10500);
  SerialLink::Passage second = serial.carry(1000, 4000);
  EXPECT_EQ(second.carriedNs, 20000);
  EXPECT_EQ(second.arrivalNs, 20500);
  EXPECT_EQ(serial.carry(1000, 50000).carriedNs, 60000);
  // A fraction of a nanosecond counts as one.
  EXPECT_EQ(serial.carry(1, 100000).carriedNs, 100010);
}

TEST(SerialLink, ChangesInTheMiddleOfAMessage) {
  // Half as fast from 5 us on, and free from 100 us on.
  SerialLink serial(
      LinkTimeline(link(0, 100), {{5000, link(700, 50)}, {100000, link(0, 0)}}),
      SerialLink::By::Time);
  // Nothing changes before the first iteration begins.
  EXPECT_EQ(serial.carry(2000, 0).carriedNs, 20000);
  serial.beginIteration(1, 1000000);
  // 500 bytes before the change, 500 after it.
  SerialLink::Passage passage = serial.carry(1000, 1000000);
  EXPECT_EQ(passage.carriedNs, 1015000);
  EXPECT_EQ(passage.arrivalNs, 1015700);
  EXPECT_EQ(serial.at(1004999).bytesPerUs, 100);
  EXPECT_EQ(serial.at(1005000).bytesPerUs, 50);
  // The rest of a message arrives at once when the limit ends, but overtakes
  // nothing.
  EXPECT_EQ(serial.carry(100000, 1099000).carriedNs, 1100000);
  // Later iterations do not begin the line again.
  serial.beginIteration(2, 1200000);
  EXPECT_EQ(serial.carry(1000, 1200000).carriedNs, 1200000);
}

TEST(SerialLink, ChangesByIteration) {
  SerialLink serial(
      LinkTimeline(link(0, 0), {{1, link(0, 10)}, {2, link(0, 0)}}),
      SerialLink::By::Iteration);
  serial.beginIteration(1, 100);
  EXPECT_EQ(serial.carry(1000, 100).carriedNs, 100);
  serial.beginIteration(2, 1000);
  EXPECT_EQ(serial.carry(1000, 1000).carriedNs, 101000);
  // The last row holds; messages of before hold nothing up.
  serial.beginIteration(3, 2000);
  EXPECT_EQ(serial.carry(1000, 2000).carriedNs, 2000);
  EXPECT_EQ(serial.carry(1000, 200000).carriedNs, 200000);
}

TEST(SerialLink, RepeatsItsTimeline) {
  const LinkTimeline line(link(1, 0), {{2, link(2, 0)}}, 4);
  const int64_t latencies[] = {1, 1, 2, 2, 1, 1, 2, 2, 1};
  for (int64_t place = 0; place < 9; ++place)
    EXPECT_EQ(line.at(place).link.latencyNs, latencies[place]) << place;
  EXPECT_EQ(line.at(1).end, 2);
  EXPECT_EQ(line.at(2).end, 4);
  EXPECT_EQ(line.at(5).end, 6);
}

TEST(SerialLink, SharesWithOtherTraffic) {
  // Other jobs take three quarters.
  SerialLink quarter(LinkTimeline(link(0, 100, 75)), SerialLink::By::Time);
  EXPECT_EQ(quarter.carry(1000, 0).carriedNs, 40000);
  // A second stream takes its turn.
  SerialLink serial(LinkTimeline(link(0, 100)), SerialLink::By::Time);
  EXPECT_EQ(serial.carry(5000, 0).carriedNs, 50000);
  EXPECT_EQ(serial.carry(1000, 10000).carriedNs, 60000);
}

/// 100 bytes per us; others send 40 of them, 10,000 bytes in a message: each
/// occupies the link for 100 us of 250.
TEST(OtherTraffic, TakesTurnsWithTheProgram) {
  const ImposedLink busy{0, 100, 40, 10000};
  EXPECT_EQ(busy.speedBytesPerUs(), 100);
  SerialLink serial(LinkTimeline(link(0, 100), {{1, busy}, {2, link(0, 100)}}),
                    SerialLink::By::Iteration);
  OtherTraffic others({&serial});
  serial.beginIteration(1, 0);
  EXPECT_EQ(others.carryUntil(0), OtherTraffic::longestWaitNs);
  EXPECT_EQ(serial.carry(1000, 0).carriedNs, 10000);
  serial.beginIteration(2, 1000000);
  // The first comes as soon as they are noticed.
  EXPECT_EQ(others.carryUntil(1000000), 1250000);
  EXPECT_EQ(serial.carry(1000, 1030000).carriedNs, 1110000);
  EXPECT_EQ(serial.carry(1000, 1200000).carriedNs, 1210000);
  // A late call finds the program's message before it in the queue.
  EXPECT_EQ(serial.carry(1000, 1255000).carriedNs, 1265000);
  EXPECT_EQ(others.carryUntil(1260000), 1500000);
  EXPECT_EQ(serial.carry(1000, 1260000).carriedNs, 1375000);
  // Two are due, and the program's message waits for both.
  EXPECT_EQ(others.carryUntil(1750000), 2000000);
  EXPECT_EQ(serial.carry(1000, 1750000).carriedNs, 1860000);
  // Those of a pause are left out.
  EXPECT_EQ(others.carryUntil(500000000), 500250000);
  EXPECT_EQ(serial.carry(1000, 500000000).carriedNs, 500110000);
  serial.beginIteration(3, 501000000);
  EXPECT_EQ(others.carryUntil(501000000),
            501000000 + OtherTraffic::longestWaitNs);
  EXPECT_EQ(serial.carry(1000, 501000000).carriedNs, 501010000);
}

TEST(OtherTraffic, LeavesSumsTheirShare) {
  const ImposedLink busy{0, 100, 40, 10000};
  EXPECT_EQ(busy.halvesNs(2, 6000, 2), link(0, 60).halvesNs(2, 6000, 2));
}

TEST(ImposedNetwork, HasALinkForEachDirectedPair) {
  auto trace = std::make_shared<LinkTrace>(
      parseLinkTrace("time_ms,from,to,latency_us,bytes_per_us\n"
                     "0,*,*,1,1000\n0,0,1,1,10\n",
                     "trace", 3, 0));
  ImposedNetwork network(link(5000, 0), trace);
  EXPECT_EQ(network.link(0, 1).at(0).latencyNs, 5000);
  network.beginIteration(1, 0);
  EXPECT_EQ(network.link(0, 1).carry(1000, 0).carriedNs, 100000);
  EXPECT_EQ(network.link(1, 0).carry(1000, 0).carriedNs, 1000);
  EXPECT_EQ(network.link(1, 2).carry(1000, 0).carriedNs, 1000);
  // Sums go as fast as the slowest of their links.
  EXPECT_EQ(network.sumNs({0, 1}, 1000, 0, 2),
            link(1000, 10).halvesNs(2, 1000, 2));
  EXPECT_EQ(network.sumNs({1, 2}, 1000, 0, 2),
            link(1000, 1000).halvesNs(2, 1000, 2));
  EXPECT_TRUE(linkImposer({}, trace));
  EXPECT_TRUE(linkImposer(link(1, 0)));
  EXPECT_FALSE(linkImposer({}));
}

TEST(LinkTrace, ReadsBothFormatsAlike) {
  const LinkTrace csv =
      parseLinkTrace("\xef\xbb\xbfto,from,iteration,bytes_per_us,latency_us\r\n"
                     "1,0,1,1000,2.5\r\n\r\n*,*,3,0,0\r\n",
                     "csv", 2, 7);
  const LinkTrace json = parseLinkTrace(
      "{\"iteration\":1,\"from\":0,\"to\":1,\"latency_us\":2.5,"
      "\"bytes_per_us\":1000}\n"
      "{\"iteration\":3,\"from\":\"*\",\"to\":\"*\",\"latency_us\":0,"
      "\"bytes_per_us\":0}",
      "json", 2, 7);
  for (const LinkTrace &trace : {csv, json}) {
    EXPECT_EQ(trace.by, SerialLink::By::Iteration);
    EXPECT_EQ(trace.period, 7);
    ASSERT_EQ(trace.rows.size(), 2u);
    EXPECT_EQ(trace.rows[0].at, 0);
    EXPECT_EQ(trace.rows[0].link.latencyNs, 2500);
    EXPECT_EQ(trace.rows[0].link.bytesPerUs, 1000);
    EXPECT_EQ(trace.rows[1].at, 2);
    EXPECT_EQ(trace.rows[1].from, LinkTrace::anyRank);
  }
}

TEST(LinkTrace, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char *text, *error;
  };
  const std::string header = "time_ms,from,to,latency_us,bytes_per_us\n";
  const Case cases[] = {
      {"", "t:1: the link trace has no rows"},
      {"time_ms,from,to,latency_us,bytes_per_us\n", "t:1: the link trace has"},
      {"time,from,to,latency_us,bytes_per_us\n", "t:1: unknown column 'time'"},
      {"time_ms,from,to,latency_us\n", "t:1: column bytes_per_us is missing"},
      {"from,to,latency_us,bytes_per_us\n",
       "t:1: columns time_ms and iteration are both missing"},
      {"time_ms,iteration,from,to,latency_us,bytes_per_us\n",
       "t:1: columns time_ms and iteration are both there"},
      {"time_ms,from,from,to,latency_us,bytes_per_us\n",
       "t:1: column from is there twice"},
      {"H1,0,1\n", "t:2: 3 fields, but the header has 5 columns"},
      {"H-1,0,1,1,1\n", "t:2: time_ms is '-1', not a number from 0"},
      {"H1,0,1,nan,1\n", "t:2: latency_us is 'nan', not a number from 0"},
      {"H1,0,1,1,1.5\n", "t:2: bytes_per_us is '1.5', not a whole number"},
      {"H1,0,2,1,1\n", "t:2: to is '2', not a rank of this program, 0 to 1"},
      {"H1,1,1,1,1\n", "t:2: from and to are both rank 1"},
      {"H5,0,1,1,1\n4,0,1,1,1\n", "t:3: time_ms 4 of link 0 -> 1 is less"},
      {"time_ms,from,to,latency_us,bytes_per_us,other_message_bytes\n"
       "1,0,1,1,9,5\n",
       "t:2: other_message_bytes is 5, but other_bytes_per_us is 0"},
      {"time_ms,from,to,latency_us,bytes_per_us,other_bytes_per_us,"
       "other_message_bytes\n1,0,1,1,9,5,499\n",
       "t:2: other_message_bytes is 499, which 5 bytes per us take less than "
       "100 us to send; other traffic is no finer: make it 500 or more"},
      {"H5,*,*,1,1\n4,0,1,1,1\n", "of link * -> * in line 2"},
      {"\xff", "t:1: byte 1 of the line, 0xff, is not UTF-8"},
      {"{\"time_ms\":1}", "t:1: column from is missing"},
      {"{\"time_ms\":1,\"from\":\"x\"", "t:1"},
  };
  for (const Case &each : cases) {
    std::string text = each.text;
    if (text[0] == 'H')
      text = header + text.substr(1);
    try {
      parseLinkTrace(text, "t", 2, 0);
      ADD_FAILURE() << text;
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find(each.error), std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW(parseLinkTrace(header + "9,0,1,1,1\n", "t", 2, 9), Error);
  EXPECT_NO_THROW(parseLinkTrace(header + "8,0,1,1,1\n", "t", 2, 9));
}

} // namespace

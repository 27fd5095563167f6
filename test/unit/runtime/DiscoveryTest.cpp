//===- DiscoveryTest.cpp - Ranks from flags and environments --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/discovery.h"

#include "gtest/gtest.h"

#include <map>

using namespace rondo::runtime;

namespace {

using Variables = std::map<std::string, std::string>;

Launch discover(const Variables &variables, const LaunchFlags &flags = {}) {
  return discoverLaunch(flags, [&](const char *name) -> const char * {
    auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

std::string errorOf(const Variables &variables, const LaunchFlags &flags = {}) {
  try {
    discover(variables, flags);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::Usage);
    return error.what();
  }
  return "no error";
}

const Variables torchrun = {{"RANK", "3"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "2"},
                            {"MASTER_PORT", "29500"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"TORCHELASTIC_RUN_ID", "run"},
                            {"TORCHELASTIC_RESTART_COUNT", "2"}};

const Variables slurm = {
    {"SLURM_PROCID", "5"},  {"SLURM_NTASKS", "8"},
    {"SLURM_LOCALID", "1"}, {"SLURM_JOB_ID", "77"},
    {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NODELIST", "gpu[07-10]"}};

const Variables openMpi = {
    {"OMPI_COMM_WORLD_RANK", "2"},       {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
    {"PMIX_NAMESPACE", "1234.1"},        {"TMPDIR", "/scratch"}};

Variables with(Variables variables, const std::string &name,
               const std::string &value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string &name) {
  variables.erase(name);
  return variables;
}

TEST(Discovery, NothingIsOneProcess) {
  Launch launch = discover({{"PATH", "/bin"}});
  EXPECT_EQ(launch.source, "");
  EXPECT_EQ(launch.size, 1);
  EXPECT_FALSE(launch.rendezvous);
}

TEST(Discovery, FlagsComeFirst) {
  LaunchFlags flags;
  flags.rank = 1;
  flags.worldSize = 2;
  flags.localRank = 0;
  flags.rendezvous = "node1:4000";
  Launch launch = discover(torchrun, flags);
  EXPECT_EQ(launch.source, "the command line");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 2);
  EXPECT_EQ(launch.rendezvous->host, "node1");
  EXPECT_EQ(launch.rendezvous->port, 4000);
  EXPECT_EQ(launch.rendezvous->numPorts, 1);
  // Unknown, not the first.
  EXPECT_EQ(launch.localRank, 0);
  flags.localRank = -1;
  EXPECT_EQ(discover(torchrun, flags).localRank, -1);
  flags.rendezvous = "file:///shared/rdzv";
  EXPECT_EQ(discover({}, flags).rendezvous->file, "/shared/rdzv");
}

TEST(Discovery, IncompleteFlagsAreErrors) {
  LaunchFlags flags;
  flags.rank = 1;
  EXPECT_EQ(errorOf({}, flags), "--rank needs --world-size");
  flags.worldSize = 2;
  EXPECT_EQ(errorOf({}, flags),
            "--rank and --world-size need --rdzv HOST:PORT or --rdzv "
            "file:///PATH, the same for all ranks");
  for (const char *wrong : {"file://relative", "file://", "host", "host:x"}) {
    flags.rendezvous = wrong;
    EXPECT_NE(errorOf({}, flags).find("--rdzv needs"), std::string::npos);
  }
  flags.rendezvous = "host:1";
  flags.rank = 2;
  EXPECT_EQ(errorOf({}, flags),
            "the command line gives rank 2 of 2: ranks count from 0");
  EXPECT_NE(errorOf({}, {-1, -1, 0, "", ""}), "no error");
  EXPECT_NE(errorOf({}, {-1, -1, -1, "host:1", ""}), "no error");
}

TEST(Discovery, TorchrunLeavesItsPortToItsAgent) {
  Launch launch = discover(torchrun);
  EXPECT_EQ(launch.source, "torchrun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.localSize, 2);
  EXPECT_EQ(launch.job, "run.29500");
  EXPECT_EQ(launch.rendezvous->host, "127.0.0.1");
  EXPECT_EQ(launch.rendezvous->port, 29501);
  EXPECT_GT(launch.rendezvous->numPorts, 1);
  EXPECT_TRUE(launch.rendezvous->isLocal);
  // The name of this machine may be its loopback interface, but only here.
  EXPECT_FALSE(
      discover(with(torchrun, "MASTER_ADDR", "gpu07")).rendezvous->isLocal);
  EXPECT_TRUE(
      discover(with(torchrun, "MASTER_ADDR", "localhost")).rendezvous->isLocal);
  EXPECT_TRUE(
      discover(with(torchrun, "MASTER_ADDR", "::1")).rendezvous->isLocal);
  EXPECT_FALSE(
      discover(with(torchrun, "MASTER_ADDR", "fd00::7")).rendezvous->isLocal);
  LaunchFlags flags;
  flags.rendezvous = "127.0.0.1:4000";
  EXPECT_EQ(discover(torchrun, flags).rank, 3);
  EXPECT_EQ(discover(torchrun, flags).rendezvous->port, 4000);
}

TEST(Discovery, AgentsOfTorchrunMayCountRestartsOtherwise) {
  EXPECT_EQ(discover(with(torchrun, "TORCHELASTIC_RESTART_COUNT", "0")).job,
            discover(torchrun).job);
}

TEST(Discovery, TorchrunNeedsAllOfIts) {
  for (const char *name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    EXPECT_EQ(errorOf(without(torchrun, name)),
              "torchrun started this process, but " + std::string(name) +
                  " is not set");
  EXPECT_EQ(errorOf(with(torchrun, "RANK", "x")),
            "RANK='x' in the environment is not a whole number of at least 0");
  EXPECT_EQ(errorOf(with(torchrun, "RANK", "8")),
            "torchrun gives rank 8 of 8: ranks count from 0");
  for (const char *wrong : {"", "-1", "3 ", "99999999999", "0x3"})
    EXPECT_NE(errorOf(with(torchrun, "WORLD_SIZE", wrong)), "no error")
        << wrong;
  EXPECT_NE(errorOf(with(torchrun, "WORLD_SIZE", "0")), "no error");
  EXPECT_NE(errorOf(with(torchrun, "MASTER_PORT", "65535")), "no error");
  // A variable RANK that someone else set is not torchrun's.
  EXPECT_EQ(discover({{"RANK", "general"}}).size, 1);
}

TEST(Discovery, SlurmMeetsOnItsFirstHost) {
  Launch launch = discover(slurm);
  EXPECT_EQ(launch.source, "Slurm");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.job, "77.0");
  EXPECT_EQ(launch.rendezvous->host, "gpu07");
  EXPECT_FALSE(launch.rendezvous->isLocal);
  // All processes find the same port, another job a different one.
  int port = launch.rendezvous->port;
  EXPECT_EQ(discover(with(slurm, "SLURM_PROCID", "0")).rendezvous->port, port);
  EXPECT_NE(discover(with(slurm, "SLURM_JOB_ID", "78")).rendezvous->port, port);
  EXPECT_EQ(discover(with(slurm, "SLURM_STEP_NUM_TASKS", "6")).size, 6);
  EXPECT_TRUE(
      discover(with(slurm, "SLURM_STEP_NODELIST", "one")).rendezvous->isLocal);
}

TEST(Discovery, AnArbitraryDistributionOfSlurmHidesRankZero) {
  const Variables arbitrary = with(slurm, "SLURM_DISTRIBUTION", "arbitrary");
  EXPECT_FALSE(discover(arbitrary).rendezvous);
  EXPECT_TRUE(
      discover(with(arbitrary, "SLURM_STEP_NODELIST", "one")).rendezvous);
  EXPECT_TRUE(discover(with(slurm, "SLURM_DISTRIBUTION", "cyclic")).rendezvous);
  LaunchFlags flags;
  flags.rendezvous = "gpu09:4000";
  EXPECT_EQ(discover(arbitrary, flags).rendezvous->host, "gpu09");
}

TEST(Discovery, ABatchScriptOfSlurmIsOneProcess) {
  EXPECT_EQ(discover(without(slurm, "SLURM_STEP_NODELIST")).size, 1);
}

TEST(Discovery, WrongSlurmVariablesAreErrors) {
  EXPECT_NE(errorOf(without(slurm, "SLURM_NTASKS")), "no error");
  EXPECT_NE(errorOf(with(slurm, "SLURM_PROCID", "9")), "no error");
  EXPECT_NE(errorOf(with(slurm, "SLURM_STEP_NODELIST", "a[3-1]")), "no error");
}

TEST(Discovery, OpenMpiMeetsInAFileOfOneMachine) {
  Launch launch = discover(openMpi);
  EXPECT_EQ(launch.source, "Open MPI");
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.localRank, 2);
  EXPECT_EQ(launch.job, "1234.1");
  EXPECT_EQ(launch.rendezvous->file.find("/scratch/rondo-"), 0u);
  EXPECT_TRUE(launch.rendezvous->isLocal);
  EXPECT_FALSE(
      discover(with(openMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "2")).rendezvous);
  EXPECT_NE(errorOf(without(openMpi, "OMPI_COMM_WORLD_SIZE")), "no error");
  EXPECT_NE(errorOf(with(openMpi, "OMPI_COMM_WORLD_RANK", "4")), "no error");
}

TEST(Discovery, MpirunInsideAJobOfSlurmIsOpenMpi) {
  Variables both = slurm;
  both.insert(openMpi.begin(), openMpi.end());
  EXPECT_EQ(discover(both).source, "Open MPI");
}

TEST(Discovery, MpichAndPmix) {
  Launch launch = discover({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(launch.source, "MPICH");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 2);
  EXPECT_FALSE(launch.rendezvous);
  EXPECT_EQ(discover({{"PMIX_RANK", "1"}, {"PMI_SIZE", "2"}}).source, "PMIx");
  EXPECT_EQ(discover({{"PMIX_RANK", "1"}, {"PMI_SIZE", "2"}}).localRank, -1);
  // The flag gives the local rank if the launcher does not.
  LaunchFlags flags;
  flags.localRank = 1;
  EXPECT_EQ(discover({{"PMIX_RANK", "1"}, {"PMI_SIZE", "2"}}, flags).localRank,
            1);
  EXPECT_EQ(errorOf({}, flags),
            "--local-rank is for several processes: give --rank and "
            "--world-size too, or start them with mpirun, torchrun or srun");
  EXPECT_EQ(errorOf({{"PMIX_RANK", "1"}}),
            "PMIx started this process, but PMI_SIZE is not set");
  EXPECT_NE(errorOf({{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}}), "no error");
}

TEST(HostList, IsExpanded) {
  using Hosts = std::vector<std::string>;
  EXPECT_EQ(expandHostList("one"), Hosts{"one"});
  EXPECT_EQ(expandHostList("a,b-1,c"), (Hosts{"a", "b-1", "c"}));
  EXPECT_EQ(expandHostList("a[1-3,07],b"),
            (Hosts{"a1", "a2", "a3", "a07", "b"}));
  EXPECT_EQ(expandHostList("n[08-11]"), (Hosts{"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(expandHostList("r[1-2]n[1-2]x"),
            (Hosts{"r1n1x", "r1n2x", "r2n1x", "r2n2x"}));
  for (const char *wrong :
       {"", ",", "a,", "a[", "a[]", "a[1", "a[1-]", "a[2-1]", "a[x]", "a]",
        "a[1-99999999]", "a[1-2-3]", "a[1234567890]"})
    EXPECT_THROW(expandHostList(wrong), Error) << wrong;
  // The number of hosts and the length of their names are limited.
  EXPECT_EQ(expandHostList("a[1-65535],b").size(), 65536u);
  for (const char *many : {"a[1-65536],b", "a[1-65536,7]", "a[1-300]b[1-300]"})
    EXPECT_THROW(expandHostList(many), Error) << many;
  EXPECT_THROW(expandHostList("a[1-2]" + std::string(253, 'b')), Error);
}

} // namespace

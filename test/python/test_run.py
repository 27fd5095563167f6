# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of tables: a thread is a rank, and a stage computes with whole numbers, so that
gradients must be equal. Messages go through one in-order queue a rank, and a send ends
when it is received, so an order that can hang does."""

import collections
import pathlib
import tempfile
import threading
import time
import unittest
import warnings

import rondo
import rondo.run
from rondo.run.check import check

SECONDS = 60


def problem(placement, microbatches=4, times=(30, 40, 20)):
    def stage(rank):
        return rondo.Stage(
            rank=rank,
            forward_ns=times[0],
            input_grad_ns=times[1],
            weight_grad_ns=times[2],
            activation_bytes=4,
            input_grad_frees_bytes=1,
            output_bytes=8,
        )

    return rondo.Problem(
        name="stand-in",
        microbatches=microbatches,
        ranks=[rondo.Rank(memory_bytes=None) for _ in range(1 + max(placement))],
        stages=[stage(rank) for rank in placement],
        link=rondo.Link(latency_ns=5, bytes_per_us=1000),
    )


class Network:
    """The queues of all ranks."""

    def __init__(self, ranks):
        self.changed = threading.Condition()
        self.queues = [collections.deque() for _ in range(ranks)]
        self.is_broken = False

    def post(self, rank, peer, cell, is_send):
        work = {"peer": peer, "cell": cell, "is_send": is_send, "is_done": False}
        with self.changed:
            self.queues[rank].append(work)
            self.match()
        return work

    def match(self):
        """Ends messages whose both ends are first in their queues."""
        is_moving = True
        while is_moving:
            is_moving = False
            for rank, queue in enumerate(self.queues):
                if not queue or not queue[0]["is_send"]:
                    continue
                send, other = queue[0], self.queues[queue[0]["peer"]]
                if other and not other[0]["is_send"] and other[0]["peer"] == rank:
                    other[0]["cell"].value = send["cell"].value
                    send["is_done"] = other[0]["is_done"] = is_moving = True
                    queue.popleft()
                    other.popleft()
        self.changed.notify_all()

    def wait(self, work):
        with self.changed:
            ended = self.changed.wait_for(
                lambda: work["is_done"] or self.is_broken, timeout=SECONDS
            )
            if not ended or self.is_broken:
                raise RuntimeError("a message did not arrive")

    def stop(self):
        with self.changed:
            self.is_broken = True
            self.changed.notify_all()


class Cell:
    """A number with a gradient."""

    def __init__(self, value=None):
        self.value, self.grad = value, None


class Stage:
    """y = w x + v x^2"""

    def __init__(self, number):
        self.w, self.v = number + 2, 1 - number % 3
        self.grads = [0, 0]

    def forward(self, x):
        return self.w * x + self.v * x * x

    def input_grad(self, x, grad):
        return grad * (self.w + 2 * self.v * x)

    def weight_grad(self, x, grad):
        self.grads[0] += grad * x
        self.grads[1] += grad * x * x


def datum(microbatch):
    return 3 + 2 * microbatch, 5 - microbatch


class StandIn(rondo.run.Hooks):
    def __init__(self, table, rank, network):
        self.table, self.rank, self.network = table, rank, network
        self.stages = {s: Stage(s) for s in table.stages_of(rank)}
        self.losses = {}
        self.reduced, self.done = [], []
        self.held = self.most_held = 0

    def as_input(self, stage, value):
        return Cell(value.value)

    def forward(self, stage, microbatch, x):
        if stage == 0:
            x = Cell(datum(microbatch)[0])
        y = Cell(self.stages[stage].forward(x.value))
        y.x = x
        if stage == self.table.num_stages - 1:
            y.loss = y.value - datum(microbatch)[1]
            self.losses[microbatch] = y.loss**2
        return y

    def grad_of(self, y, grad):
        return 2 * y.loss if grad is None else grad.value

    def input_grad(self, stage, microbatch, y, grad, x):
        assert stage > 0
        found = self.grad_of(y, grad)
        x.grad = self.stages[stage].input_grad(x.value, found)
        self.held += 1
        self.most_held = max(self.held, self.most_held)
        return x.value, found

    def weight_grad(self, stage, microbatch, token):
        self.held -= 1
        self.stages[stage].weight_grad(*token)

    def backward(self, stage, microbatch, y, grad, x):
        found = self.grad_of(y, grad)
        if x is not None:
            x.grad = self.stages[stage].input_grad(x.value, found)
        self.stages[stage].weight_grad(y.x.value, found)

    def gradient(self, stage, x):
        return Cell(x.grad)

    def after_weight(self, stage, microbatch):
        self.done.append((stage, microbatch))

    def reduce(self, stage):
        self.reduced.append((stage, len([s for s, _ in self.done if s == stage])))

    def send(self, stage, kind, value, rank):
        return self.network.post(self.rank, rank, value, True)

    def receive(self, stage, kind, rank):
        cell = Cell()
        return cell, self.network.post(self.rank, rank, cell, False)

    def wait(self, work):
        self.network.wait(work)


def run_ranks(table, forward_only=False):
    network = Network(table.num_ranks)
    hooks = [StandIn(table, rank, network) for rank in range(table.num_ranks)]
    errors = []

    def work(rank):
        try:
            rondo.run.run(table, rank, hooks[rank], forward_only=forward_only)
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)
            network.stop()

    threads = [threading.Thread(target=work, args=(r,)) for r in range(len(hooks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return hooks


def reference(count, microbatches):
    """Losses and gradients of one rank."""
    stages, losses = [Stage(s) for s in range(count)], {}
    for index in range(microbatches):
        x, target = datum(index)
        inputs = []
        for stage in stages:
            inputs.append(x)
            x = stage.forward(x)
        losses[index] = (x - target) ** 2
        grad = 2 * (x - target)
        for stage, value in zip(stages[::-1], inputs[::-1]):
            stage.weight_grad(value, grad)
            grad = stage.input_grad(value, grad)
    return losses, [stage.grads for stage in stages]


WAVES = [0, 1, 1, 0, 0, 1, 1, 0]
FAMILIES = [
    ("1f1b", [0, 1, 2, 3]),
    ("gpipe", [0, 1]),
    ("zb-h1", [0, 1, 2, 3]),
    ("interleaved-1f1b", [0, 1, 0, 1]),
    ("zbv", [0, 1, 1, 0]),
    ("v-min", [0, 1, 2, 2, 1, 0]),
    ("dualpipe-v", [0, 1, 1, 0]),
    ("wave", WAVES),
]
SEARCHED = [[0, 1], [0, 1, 1, 0], [0, 0, 1, 1, 0], [1, 0, 2, 1], WAVES]


def tables():
    for family, placement in FAMILIES:
        found = rondo.simulate(problem(placement), family)[0]
        yield family, placement, found
    for placement in SEARCHED:
        yield "searched", placement, rondo.search(problem(placement), effort=20)


class Runs(unittest.TestCase):
    def test_gradients(self):
        kinds = set()
        for name, placement, schedule in tables():
            with self.subTest(name, placement=placement):
                table = rondo.run.Table.of(schedule)
                table.check()
                self.assertEqual(table.placement, placement)
                hooks = run_ranks(table)
                losses, grads = reference(len(placement), 4)
                self.assertEqual(hooks[placement[-1]].losses, losses)
                found = [hooks[r].stages[s].grads for s, r in enumerate(placement)]
                self.assertEqual(found, grads)
                for rank, hook in enumerate(hooks):
                    expected = [(s, 4) for s in table.stages_of(rank)]
                    self.assertEqual(sorted(hook.reduced), expected)
                    self.assertEqual(hook.held, 0)
                kinds |= {a.kind for row in table.rows for a in row}
        self.assertTrue(set("FIWB") < kinds)

    def test_weight_gradients_are_late(self):
        table = rondo.run.Table.of(rondo.simulate(problem([0, 1, 2, 3], 8), "zb-h1")[0])
        self.assertGreater(max(hook.most_held for hook in run_ranks(table)), 1)

    def test_evaluation(self):
        for name, placement, schedule in tables():
            with self.subTest(name, placement=placement):
                table = rondo.run.Table.of(schedule).forward_only()
                table.check()
                hooks = run_ranks(table, forward_only=True)
                losses, _ = reference(len(placement), 4)
                self.assertEqual(hooks[placement[-1]].losses, losses)
                self.assertEqual([h.done for h in hooks], [[] for _ in hooks])

    def test_evaluation_of_another_size(self):
        for _, placement in FAMILIES:
            table = rondo.run.Table.forwards(placement, 7)
            table.check()
            hooks = run_ranks(table, forward_only=True)
            losses, _ = reference(len(placement), 7)
            self.assertEqual(hooks[placement[-1]].losses, losses)

    def test_files(self):
        schedule = rondo.search(problem([0, 1, 1, 0]), effort=20)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "table.csv")
            rondo.export("torch-csv-comms", schedule, output=path)
            expected = rondo.run.Table.of(schedule).rows
            self.assertEqual(rondo.run.Table.of(path).rows, expected)
            schedule.write(pathlib.Path(folder, "schedule.json"))
            again = rondo.run.Table.of(pathlib.Path(folder, "schedule.json"), schedule.of)
            self.assertEqual(again.rows, expected)
        # A pair is run one task after the other.
        pair = rondo.run.Table.from_csv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n")
        self.assertEqual(list(map(str, pair.rows[0])), ["0F0", "0F1", "0B0", "0B1"])

    def test_a_large_table(self):
        placement, microbatches = list(range(64)), 512
        found = rondo.simulate(problem(placement, microbatches), "zb-h1")[0]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "table.csv")
            rondo.export("torch-csv-comms", found, output=path)
            # Time of this processor: others may use the machine.
            begin = time.process_time()
            table = rondo.run.Table.read(path)
            table.check()
            self.assertLess(time.process_time() - begin, 2)
        self.assertEqual((table.num_ranks, table.microbatches), (64, 512))
        cells = sum(map(len, table.rows))
        self.assertGreater(cells, 64 * 512 * 8)
        # Linear: an action is visited once, and again if its rank waits there.
        self.assertLessEqual(check(table, "rank"), 2 * cells)


ROW0 = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD\n"
ROW1 = "1RECV_F0,1F0,1I0,1SEND_B0,1W0,1RECV_F1,1F1,1B1,1SEND_B1\n"


class Errors(unittest.TestCase):
    def refuse(self, text, expected, **options):
        with self.assertRaises(ValueError) as raised:
            rondo.run.Table.from_csv(text, "x.csv").check(**options)
        self.assertRegex(str(raised.exception), expected)

    def test_cells(self):
        for word in ("0X0", "f", "0F", "0REDUCE_GRAD1", "0F-1", "0F0 0B0", "0f0"):
            self.refuse(f"0F0,{word},0B0\n", f"x.csv, row 1: '{word}' is not an action")

    def test_placement(self):
        self.refuse("0F0,1F0\n1B0,0B0\n", "stage [01] is on ranks 0 and 1")
        self.refuse("0F0,0B0\n2F0,2B0\n", "stage 1 is on no rank")
        self.refuse("0F0,0B0\n\n1F0,1B0\n", "rank 1 has no action")
        self.refuse("", "has no row")

    def test_one_queue_and_pairs(self):
        # Rank 0 sends F1 before it receives B0; rank 1 the other way round.
        text = ROW0 + ROW1
        self.refuse(text, "waits forever with one queue of messages a rank: rank 0")
        rondo.run.Table.from_csv(text).check(queues="pair")
        with self.assertRaisesRegex(ValueError, 'queues is "rank" or "pair"'):
            rondo.run.Table.from_csv(text).check(queues="nccl")

    def test_rows(self):
        def change(old, new, expected):
            for row in (ROW0, ROW1):
                if old in row:
                    other = row.replace(old, new)
                    text = other + ROW1 if row is ROW0 else ROW0 + other
                    return self.refuse(text, expected, queues="pair")
            return self.fail(old)

        change("1RECV_F0,", "", "1F0 comes before its receive")
        change("1F1,1B1", "1B1,1F1", "row 2, column 7: 1B1 comes before 1F1")
        change("1I0,", "", "1SEND_B0 comes before 1I0")
        change("1I0,", "1I0,1I0,", "1I0 is there twice")
        change("1I0,", "1B0,1I0,", "1I0 is there as well as")
        change("1W0,", "", "neither 1W0 nor 1B0")
        change("0SEND_F1,", "", "waits forever")
        change("0SEND_F1,", "0SEND_F1,0SEND_F1,", "0SEND_F1 is there twice")
        change("0SEND_F1,", "0SEND_B1,", "no stage at its other end")
        change("0SEND_F1,", "0WAIT_SEND_F1,0SEND_F1,", "comes before its send")
        change("0F1,0SEND_F1", "0SEND_F1,0F1", "0SEND_F1 comes before 0F1")
        change("0B1,0REDUCE_GRAD", "0REDUCE_GRAD,0B1", "0REDUCE_GRAD comes before 0W1")
        self.refuse("0F0,1F0,0B0,1B0\n", "0B0 comes before 1I0")
        self.refuse("0F0,0SEND_F0,1F0,1B0,0B0\n", "0SEND_F0 is a message within rank 0")

    def test_numbers(self):
        table = rondo.run.Table.from_csv(ROW0 + ROW1, "x.csv")
        table.fit(stages=2, ranks=2, microbatches=2)
        for word, given in (("stages", 3), ("ranks", 4), ("microbatches", 8)):
            expected = word.replace("micro", "micro-")
            with self.assertRaisesRegex(
                rondo.run.TableError, f"x.csv has 2 {expected}, but the job has {given}"
            ):
                table.fit(**{word: given}, of="the job")

    def test_ascending(self):
        self.assertIsNone(rondo.run.Table.from_csv(ROW0 + ROW1).descending())
        table = rondo.run.Table.from_csv("0F1,0F0,0B0,0B1\n")
        self.assertEqual(list(map(str, table.descending())), ["0F1", "0F0"])
        table.fit(microbatches=2)
        with self.assertRaisesRegex(
            rondo.run.TableError, "0F0 comes after 0F1, but old needs the forwards"
        ):
            table.fit(ascending=True, of="old")

    def test_versions(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rondo.run.check_version("client", "0.19.8", ["0.19.8"], "0.19.0")
            rondo.run.check_version("client", "2.15.0+cpu", ["2.15.0"])
        with self.assertWarnsRegex(rondo.run.UntriedVersion, "tried: 0.19.8"):
            rondo.run.check_version("client", "0.20.0", ["0.19.8"], "0.19.0")
        with self.assertRaisesRegex(rondo.run.UnsupportedVersion, "0.18.9 is too old"):
            rondo.run.check_version("client", "0.18.9", ["0.19.8"], "0.19.0")

"""The hub and the streams of the web process: what each client gets, and what is kept for it."""

import asyncio
import contextlib
import json
import socket
import time
from dataclasses import dataclass, field

import pytest

from experiments.observation.model import FabricState
from polarlab.web.address import WebAddress
from polarlab.web.channel import MAX_BYTES, About, Answer, Event, Now, Watchers, line_of, to_fabric, to_web
from polarlab.web.page_server import PageServer
from polarlab.web.service import hub as hub_module
from polarlab.web.service.hub import Hub, Unanswered
from polarlab.web.service.stream import EventStream
from polarlab.web.web_process import Outbox

PATIENCE_S = 20.0


async def until(condition):
    """Returns when a condition holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)


class Fabric:
    """The fabric's end of a hub's channel."""

    def __init__(self, hub):
        self.hub = hub
        self._own, theirs = socket.socketpair()
        theirs.setblocking(False)
        self._own.setblocking(False)
        self._serving = asyncio.create_task(hub.serve(theirs))

    async def open(self):
        self.reader, self._writer = await asyncio.open_connection(sock=self._own)
        await until(lambda: self.hub.connected)

    async def tell(self, *messages):
        """Tells messages, and returns when the hub has taken them all."""
        version = self.hub.version + len(messages)
        self.write(*messages)
        await until(lambda: self.hub.version >= version)

    def write(self, *messages):
        self._writer.write(b"".join(map(line_of, messages)))

    async def heard(self):
        async with asyncio.timeout(PATIENCE_S):
            return to_fabric(await self.reader.readline())

    async def end(self):
        self._writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await self._serving
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()


@contextlib.asynccontextmanager
async def fabric_of(hub):
    fabric = Fabric(hub)
    await fabric.open()
    try:
        yield fabric
    finally:
        await fabric.end()


@dataclass
class Client:
    """A client of a stream, which takes what is sent while `reads` is set."""

    stream: EventStream
    bodies: list = field(default_factory=list)
    more: bool = True

    def __post_init__(self):
        self.reads, self._left = asyncio.Event(), asyncio.Event()
        self.reads.set()
        self.task = asyncio.create_task(self.stream({"type": "http"}, self._receive, self._send))

    async def _receive(self):
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        if self._left.is_set():  # uvicorn forgets what is sent to those who have left
            return
        if message["type"] == "http.response.body":
            self.bodies.append(message["body"])
            self.more = message["more_body"]
            await self.reads.wait()

    async def leave(self):
        self._left.set()
        async with asyncio.timeout(PATIENCE_S):
            await self.task

    def told(self, kind):
        """Returns what was sent of a kind."""
        messages = b"".join(self.bodies).decode().split("\n\n")
        found = [dict(line.split(": ", 1) for line in one.splitlines()) for one in messages if one]
        return [json.loads(one["data"]) for one in found if one.get("event") == kind]

    @property
    def entries(self):
        return [entry["number"] for entries in self.told("timeline") for entry in entries]


def entry(number):
    return Event({"number": number, "text": f"event {number}"})


def test_a_client_that_never_reads_gets_the_newest_state_and_holds_nobody_up():
    async def check():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            slow, quick = Client(EventStream(hub)), Client(EventStream(hub))
            await until(lambda: slow.bodies and quick.bodies)
            slow.reads.clear()
            for number in range(1, 1001):
                await fabric.tell(Now({"number": number}))
                await until(lambda number=number: {"number": number} in quick.told("state")[-1:])
                quick.bodies[:] = quick.bodies[-1:]
                assert hub.state == {"number": number}
            assert slow.told("state") == [{"number": 1}]  # the first was under way
            slow.reads.set()
            await until(lambda: len(slow.told("state")) == 2)
            await fabric.tell(entry(0))
            await until(lambda: slow.entries == [0])
        assert slow.told("state") == [{"number": 1}, {"number": 1000}]

    asyncio.run(check())


def test_states_that_come_at_once_are_not_queued():
    async def check():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            slow = Client(EventStream(hub))
            slow.reads.clear()
            await until(lambda: slow.bodies)
            await fabric.tell(*(Now({"number": number}) for number in range(1000)))
            slow.reads.set()
            await until(lambda: slow.told("state"))
            assert slow.told("state") == [{"number": 999}]

    asyncio.run(check())


def test_entries_come_once_in_order_and_none_is_skipped_by_a_slow_client():
    async def check():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            client = Client(EventStream(hub))
            for number in range(300):
                client.reads.clear() if number % 3 else client.reads.set()
                await fabric.tell(entry(number))
            client.reads.set()
            await until(lambda: client.entries[-1:] == [299])
            await fabric.tell(Now({}))
            await until(lambda: {} in client.told("state"))
        assert client.entries == list(range(300))

    asyncio.run(check())


def test_a_client_that_comes_back_gets_what_it_missed():
    async def check():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            await fabric.tell(*map(entry, range(5)))
            first = Client(EventStream(hub))
            await until(lambda: first.entries == [0, 1, 2, 3, 4])
            assert f"id: {hub.session}-4\n".encode() in b"".join(first.bodies)
            await first.leave()
            await fabric.tell(*map(entry, range(5, 9)))
            again = Client(EventStream(hub, 4))
            await until(lambda: again.entries)
            await fabric.tell(entry(9))
            await until(lambda: again.entries[-1] == 9)
            assert again.entries == [5, 6, 7, 8, 9]
            assert first.entries == [0, 1, 2, 3, 4]

    asyncio.run(check())


def test_a_stream_ends_with_the_fabrics_process_after_its_last_event():
    async def check():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            clients = [Client(EventStream(hub)) for _ in range(3)]
            await until(lambda: all(client.bodies for client in clients))
            clients[2].reads.clear()
            await fabric.tell(About({"name": "x"}), entry(0), Now({}))
            fabric.write(entry(1))  # the very last
        clients[2].reads.set()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(client.task for client in clients))
        for client in clients:
            assert client.told("end") == [{}]
            assert client.bodies[-1].endswith(b"event: end\ndata: {}\n\n")
            assert client.more is False
            assert client.entries == [0, 1]

    asyncio.run(check())


def test_the_number_of_watchers_is_told_and_goes_down():
    async def check():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            one = Client(EventStream(hub))
            assert await fabric.heard() == Watchers(1)
            two = Client(EventStream(hub))
            assert await fabric.heard() == Watchers(2)
            two.reads.clear()
            await fabric.tell(entry(0))
            await until(lambda: two.entries == [0])
            await two.leave()  # while something is sent to it
            assert await fabric.heard() == Watchers(1)
            await one.leave()  # while it waits
            assert await fabric.heard() == Watchers(0)

    asyncio.run(check())


def test_those_who_close_the_page_are_watchers_no_longer():
    with PageServer(WebAddress("127.0.0.1", 0, token="")) as page:
        connections = []
        for _ in range(3):
            connection = socket.create_connection(("127.0.0.1", page.port), PATIENCE_S)
            connection.sendall(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connections.append(connection)
        for expected in (3, 0):
            deadline = time.monotonic() + PATIENCE_S
            while page.watchers != expected:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            for connection in connections:
                connection.close()


def test_an_answer_that_never_comes_is_told(monkeypatch):
    monkeypatch.setattr(hub_module, "ANSWER_TIMEOUT_S", 0.05)

    async def check():
        hub = Hub()
        with pytest.raises(Unanswered):  # nobody is connected
            await hub.ask("fail", {})
        async with fabric_of(hub) as fabric:
            with pytest.raises(Unanswered):
                await hub.ask("fail", {"elements": "s1"})
            late = await fabric.heard()
            assert (late.action, json.loads(bytes(late.arguments))) == ("fail", {"elements": "s1"})
            await fabric.tell(Answer(late.number, 200, "late"))  # nobody waits for it any more
            monkeypatch.setattr(hub_module, "ANSWER_TIMEOUT_S", PATIENCE_S)
            asked = [asyncio.create_task(hub.ask("results", {"n": n})) for n in range(2)]
            numbers = [(await fabric.heard()).number for _ in asked]
            await fabric.tell(*(Answer(number, 200, number) for number in reversed(numbers)))
            assert [(await one).body for one in asked] == numbers

    asyncio.run(check())


def test_an_answer_is_awaited_while_the_fabric_tells_of_itself(monkeypatch):
    """A measurement takes longer than a fabric that lives is silent."""
    monkeypatch.setattr(hub_module, "ANSWER_TIMEOUT_S", 0.2)

    async def check():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            asked = asyncio.create_task(hub.ask("measure", {}))
            number = (await fabric.heard()).number
            for _ in range(12):
                await fabric.tell(Now(None))
                await asyncio.sleep(0.05)
            assert not asked.done()
            await fabric.tell(Answer(number, 200, "done"))
            assert (await asked).body == "done"

    asyncio.run(check())


def test_those_who_wait_for_an_answer_are_told_when_the_fabric_ends():
    async def check():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            asked = asyncio.create_task(hub.ask("results", {}))
            await fabric.heard()
        with pytest.raises(Unanswered):
            await asked
        with pytest.raises(Unanswered):
            await hub.ask("results", {})

    asyncio.run(check())


def state(number):
    return FabricState(number=number, time_s=0.0, load=(), waiting=(), dropped=(), down=())


def test_states_go_on_when_the_web_process_did_not_take_some():
    outbox = Outbox(3)
    while outbox.put(entry(0)):
        pass
    outbox.put_state(state(1))
    lines = outbox.lines()
    assert [to_web(next(lines)) for _ in range(3)] == 3 * [entry(0)]  # it takes messages again
    outbox.put_state(state(2))
    outbox.end()
    [told] = [to_web(line) for line in lines]
    assert told.state["number"] == 2


def test_answers_for_which_there_is_no_room_are_replaced_by_errors():
    """Their clients wait for them as long as the fabric reports states."""
    outbox = Outbox()
    half = MAX_BYTES * 2 // 5  # a file is sent in base64, in four bytes for three
    for number, length in ((1, half), (2, half), (3, 2 * half)):
        assert outbox.put(Answer(number, 200, None, file=bytes(length)))
    outbox.end()
    told = [to_web(line) for line in outbox.lines()]
    assert [(one.number, one.status) for one in told] == [(1, 200), (2, 503), (3, 400)]
    assert all(one.body["error"] for one in told[1:])


def test_a_client_that_stays_gets_the_events_of_other_results_that_are_shown():
    async def told():
        hub = Hub()
        async with fabric_of(hub) as fabric:
            client = Client(EventStream(hub))
            live = [Event({"number": number, "text": "live"}) for number in range(5)]
            await fabric.tell(About({"replay": None}), *live)
            await until(lambda: client.told("timeline"))
            await fabric.tell(About({"replay": "run"}), Event({"number": 0, "text": "replayed"}))
            await until(lambda: client.told("timeline")[-1][-1]["text"] == "replayed")
            assert [entry["text"] for entry in hub.entries] == ["replayed"]

    asyncio.run(told())

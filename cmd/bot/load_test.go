package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nod/cmd/bot/config"
	"nod/internal/fakediscord"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

var underLoad = flag.Bool("load", false, "measure the whole program from outside: make load")

// How much is measured. A question that many ask at once has a person of its own.
const (
	loadSingles = 1000 // one after the other: ten of them are slower than p99
	loadKnown   = 100  // people who ask those
	loadRounds  = 8    // of loadAtOnce
	loadAtOnce  = 64
	loadMany    = 1000
	loadSlow    = 5 * time.Second
	loadSlowest = 20 * time.Second

	loadApprovals = 11
)

// TestLoad measures the program as a process of its own, with a platform and a
// model in this one, beside a loop in another process that does the same and stores
// nothing: see docs/performance.md.
func TestLoad(t *testing.T) {
	if !*underLoad {
		t.Skip("make load")
	}
	defer scrap()
	for _, platform := range []string{"slack", "discord"} {
		fmt.Printf("\n%s\n%s\n", platform, loadHead)
		bare := newLoad(t, platform, "bare")
		base := bare.measure("bare loop", loadRow{})
		newLoad(t, platform, "kept").measure("one that keeps", base)
		for _, store := range []string{"sqlite", "redis"} {
			l := newLoad(t, platform, store)
			l.measure("nod, "+store, base)
		}
	}
}

const loadHead = `who            | start ms | rest MB | plain p50/p99 ms | tool p50/p99 ms | CPU ms plain/tool | tool, 20 ms apart: p50/p99, CPU ms | turns/s 64 | 1000 × 5 s: last after s | MB then | approval in the burst, then: ms
(ratio)        |          |         |                  |                 |                   |                                    |            |                          |         |`

// loadRow is a row of the table.
type loadRow struct {
	start       time.Duration
	rest, full  float64 // resident, MB
	plain, tool loadTimes
	apart       loadTimes // with a tool, each loadBreath after the answer to the one before
	rate        float64   // turns with a tool a second, 64 at once
	many        time.Duration
	burst       time.Duration // an approval while a thousand ask
	approval    time.Duration // while they wait for the model
}

// loadTimes are of one question after the other.
type loadTimes struct {
	p50, p99 time.Duration
	cpu      time.Duration // of the process, a turn
}

// loadRig is a platform, a model and a process that serves them.
type loadRig struct {
	t     *testing.T
	w     world
	n     *service
	p     *process
	who   string
	redis string // the store's address
	users int    // who asked once
	known int    // questions of those who ask again
	// guilds are those of Discord's channels.
	guilds map[string]string
	delay  atomic.Int64  // of a model call, for whoever asks something slow
	over   chan struct{} // closed when nobody waits for the model any more
}

// newLoad is a platform without limits, and a program that knows of none.
func newLoad(t *testing.T, platform, who string) *loadRig {
	t.Helper()
	switch platform {
	case "slack":
		return loadOn(t, unlimitedSlack(t), who)
	default:
		w := newDiscordWorld(t, fakediscord.Options{NoLimits: true})
		w.extra = ", limits: {global: 10000}"
		return loadOn(t, w, who)
	}
}

// unlimitedSlack is a workspace without limits, and the program knows that.
func unlimitedSlack(t *testing.T) *slackWorld {
	t.Helper()
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	for _, m := range config.SlackMethods {
		w.extra = cmp.Or(w.extra, ", limits: {") + m + ": 100000, "
	}
	w.extra = strings.TrimSuffix(w.extra, ", ") + "}"
	return w
}

func loadOn(t *testing.T, w world, who string) *loadRig {
	t.Helper()
	l := &loadRig{t: t, w: w, who: who, over: make(chan struct{}), guilds: map[string]string{}}
	s := setup{}
	if who == "redis" {
		l.redis = redistest.Start(t).URL()
		s.store = l.redis
	}
	l.n = newService(t, l.w, l.model, s)
	l.n.binary = released(t)
	t.Cleanup(func() { close(l.over) })
	return l
}

// released builds the program as deploy/release.sh does: what is measured is what
// people run, and not this test, which holds the fakes and twice the tables too.
func released(t *testing.T) string {
	t.Helper()
	shipped.Do(func() {
		shipped.path = filepath.Join(os.TempDir(), fmt.Sprintf("nod-load-%d", os.Getpid()))
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", shipped.path, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	return shipped.path
}

var shipped struct {
	sync.Once
	path string
}

// scrap removes what released has built.
func scrap() {
	_ = os.Remove(shipped.path)
	shipped.Once = sync.Once{}
}

// model answers at once, or late what is asked slowly.
func (l *loadRig) model(r fakellm.Request) fakellm.Reply {
	var asked string
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			asked = m.Text()
			break
		}
	}
	if strings.Contains(asked, "slowly") {
		select {
		case <-time.After(time.Duration(l.delay.Load())):
		case <-l.over:
		}
	}
	switch {
	case r.Last().Role == "tool":
		return fakellm.Reply{Text: "The tool says: noon"}
	case strings.Contains(asked, "deploy"):
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "deploy", Args: `{"env":"prod"}`}}}
	case strings.Contains(asked, "time"):
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "clock", Args: `{}`}}}
	}
	return fakellm.Reply{Text: "You said so, and I have no better idea than to restart it and to look at the disk, which was full the last time; shall I?"}
}

// askKnown has one of some people say something who did before. Who a person of Slack's is
// has to be asked for once, while an event of Discord's tells it, where a direct
// conversation is one thread: there it is somebody new.
func (l *loadRig) askKnown(text string) place {
	w, slack := l.w.(*slackWorld)
	if !slack {
		return l.ask(text)
	}
	l.known++
	name := fmt.Sprintf("known%d", l.known%loadKnown)
	if w.users[name] == "" {
		w.users[name] = fmt.Sprintf("UK%05d", l.known%loadKnown)
		w.s.AddUser(fakeslack.User{ID: w.users[name], Name: name})
	}
	return w.dm(name, text)
}

// ask has a person who never wrote before say something in a direct message.
func (l *loadRig) ask(text string) place {
	l.users++
	name := fmt.Sprintf("user%d", l.users)
	switch w := l.w.(type) {
	case *slackWorld:
		w.users[name] = fmt.Sprintf("U%06d", l.users)
		w.s.AddUser(fakeslack.User{ID: w.users[name], Name: name})
	case *discordWorld:
		w.users[name] = w.s.AddUser(name, "")
		w.s.Join(w.guild, w.users[name])
	}
	return l.w.dm(name, text)
}

func (l *loadRig) measure(name string, base loadRow) (r loadRow) {
	l.t.Helper()
	r.start = l.begin()
	defer func() { l.p.kill() }()
	l.settle()
	l.singly("hello", "You said so", 20, 0) // warm
	r.rest = l.resident()
	l.singly("hello", "You said so", loadKnown, 0)
	r.plain = l.singly("hello", "You said so", loadSingles, 0)
	r.tool = l.singly("time", "The tool says", loadSingles, 0)
	r.apart = l.singly("time", "The tool says", loadSingles, loadBreath)
	began := time.Now()
	for range loadRounds {
		l.crowd("time", "The tool says", loadAtOnce, 5*time.Millisecond)
	}
	r.rate = loadRounds * loadAtOnce / time.Since(began).Seconds()
	l.delay.Store(int64(loadSlow))
	began = time.Now()
	l.crowd("slowly", "You said so", loadMany, 20*time.Millisecond)
	r.many = time.Since(began) - loadSlow
	r.full = l.resident()
	if !l.measures() {
		r.burst, r.approval = l.meanwhile()
	}
	r.print(name, base)
	return r
}

// measures says that the process is one of the loops.
func (l *loadRig) measures() bool { return l.who == "bare" || l.who == "kept" }

// begin starts the process and waits until it is ready. It gives how long it took until
// it connected.
func (l *loadRig) begin() time.Duration {
	l.t.Helper()
	began := time.Now()
	l.spawn()
	l.waitFor("it does not connect", func() bool {
		if w, ok := l.w.(*discordWorld); ok {
			return len(w.s.Connections()) > 0
		}
		return l.w.(*slackWorld).s.Called("apps.connections.open") > 0
	})
	took := time.Since(began)
	if !l.measures() {
		l.n.done = make(chan int, 1)
		l.n.ready()
	}
	return took
}

// spawn starts the process.
func (l *loadRig) spawn() {
	l.t.Helper()
	if l.measures() {
		l.p = l.spawnBare()
	} else {
		l.p = l.n.spawn()
	}
}

// singly asks one question after the other, each so long after the answer to the one before.
func (l *loadRig) singly(text, answer string, n int, breath time.Duration) loadTimes {
	l.t.Helper()
	defer l.quiet()()
	var took []time.Duration
	cpu := l.cpu()
	for range n {
		<-time.After(breath)
		began := time.Now()
		l.await(l.askKnown(text), answer)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return loadTimes{took[n/2], took[n*99/100], (l.cpu() - cpu) / time.Duration(n)}
}

// quiet has the fakes' garbage lie until what it returns is called: it is not the
// program's time.
func (l *loadRig) quiet() (end func()) {
	debug.FreeOSMemory()
	before := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(before) }
}

// await waits as awaitPost does.
func (l *loadRig) await(at place, answer string) {
	l.t.Helper()
	l.waitFor(fmt.Sprintf("no answer to %v", at), func() bool { return l.n.count(at, answer) > 0 })
}

// waitFor looks whenever something has changed on the platform.
func (l *loadRig) waitFor(complaint string, holds func() bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	var err error
	switch w := l.w.(type) {
	case *slackWorld:
		err = w.s.WaitFor(ctx, func(*fakeslack.Server) bool { return holds() })
	case *discordWorld:
		err = w.s.WaitFor(ctx, func(*fakediscord.Server) bool { return holds() })
	}
	if err != nil {
		l.t.Fatalf("%s: %v\n%s", complaint, err, l.p.out)
	}
}

// crowd asks many questions at once, and waits until all are answered.
func (l *loadRig) crowd(text, answer string, n int, look time.Duration) {
	l.t.Helper()
	var open []place
	for range n {
		open = append(open, l.ask(text))
	}
	for until := time.Now().Add(6 * patience); len(open) > 0; <-time.After(look) {
		open = slices.DeleteFunc(open, func(at place) bool { return l.n.count(at, answer) > 0 })
		if time.Now().After(until) {
			l.t.Fatalf("%d questions are not answered", len(open))
		}
	}
}

// meanwhile is how long approvals take to run their tool: one that is given while a
// thousand people ask, and the slowest of some that are given while all of those wait
// for a slow model.
func (l *loadRig) meanwhile() (burst, later time.Duration) {
	l.t.Helper()
	type card struct {
		who string
		on  place
	}
	var cards []card
	for range loadApprovals {
		at := l.ask("deploy")
		cards = append(cards, card{fmt.Sprintf("user%d", l.users), l.n.ask(at, "prod").place})
	}
	l.delay.Store(int64(loadSlowest))
	before := len(l.n.llm.Requests())
	for range loadMany {
		l.ask("slowly")
	}
	for i, c := range cards {
		took := l.approved(c.who, c.on)
		if later = max(later, took); i == 0 {
			burst, later = took, 0
			eventually(l.t, "the model has been asked", func() bool { return len(l.n.llm.Requests()) >= before+loadMany })
		}
	}
	return burst, later
}

// approved is how long the tool takes to run from an approval on.
func (l *loadRig) approved(who string, card place) time.Duration {
	l.t.Helper()
	before, began := len(l.n.ran()), time.Now()
	l.w.react(who, card, "✅")
	for until := began.Add(patience); len(l.n.ran()) == before; <-time.After(time.Millisecond) {
		if time.Now().After(until) {
			l.t.Fatal("what was approved does not run")
		}
	}
	return time.Since(began)
}

// cpu is what the process has used so far.
func (l *loadRig) cpu() time.Duration {
	l.t.Helper()
	const hz = 100 // USER_HZ, which is that everywhere
	f := l.stat("stat")
	_, after, _ := strings.Cut(f, ") ")
	fields := strings.Fields(after)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / hz
}

// settle gives the process time to end what it began.
func (l *loadRig) settle() { <-time.After(4 * time.Second) }

// resident is what of the process is in memory, in MB.
func (l *loadRig) resident() float64 {
	l.t.Helper()
	return float64(kib(l.t, l.p.cmd.Process.Pid, "VmRSS")) / 1024
}

func (l *loadRig) stat(name string) string {
	l.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", l.p.cmd.Process.Pid, name))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(raw)
}

func (r loadRow) print(name string, base loadRow) {
	fmt.Printf("%-14s | %8.0f | %7.0f | %7.1f %8.1f | %7.1f %7.1f | %8.1f %8.1f | %12.1f %10.1f %10.1f | %10.0f | %24.1f | %7.0f | %.0f %.0f\n", name, ms(r.start), r.rest,
		ms(r.plain.p50), ms(r.plain.p99), ms(r.tool.p50), ms(r.tool.p99), ms(r.plain.cpu), ms(r.tool.cpu),
		ms(r.apart.p50), ms(r.apart.p99), ms(r.apart.cpu), r.rate, r.many.Seconds(), r.full, ms(r.burst), ms(r.approval))
	if base.rate == 0 {
		return
	}
	by := func(a, b time.Duration) float64 { return float64(a) / max(1, float64(b)) }
	fmt.Printf("%-14s | %8s | %7s | %6.1f× %7.1f× | %6.1f× %6.1f× | %7.1f× %7.1f× | %11.1f× %9.1f× %9.1f× | %9.2f× | %24s | %7s |\n", "", "", "",
		by(r.plain.p50, base.plain.p50), by(r.plain.p99, base.plain.p99), by(r.tool.p50, base.tool.p50), by(r.tool.p99, base.tool.p99),
		by(r.plain.cpu, base.plain.cpu), by(r.tool.cpu, base.tool.cpu),
		by(r.apart.p50, base.apart.p50), by(r.apart.p99, base.apart.p99), by(r.apart.cpu, base.apart.cpu), r.rate/base.rate, "", "")
}

// spawnBare starts the loop that stores nothing, or the one that keeps what it must.
func (l *loadRig) spawnBare() *process {
	l.t.Helper()
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	p := &process{n: l.n, cmd: exec.Command(self), out: &buffer{}}
	p.cmd.Args = []string{"bareloop"} // see TestMain
	p.cmd.Env = append(os.Environ(), "BARE_LLM="+l.n.llm.URL)
	switch w := l.w.(type) {
	case *slackWorld:
		p.cmd.Env = append(p.cmd.Env, "BARE_SLACK="+w.s.APIURL(), "BARE_APP="+w.s.AppToken(), "BARE_BOT="+w.s.BotToken())
	case *discordWorld:
		p.cmd.Env = append(p.cmd.Env, "BARE_DISCORD="+w.s.URL(), "BARE_BOT="+w.s.Token())
	}
	if l.who == "kept" {
		p.cmd.Env = append(p.cmd.Env, "BARE_FILE="+filepath.Join(l.t.TempDir(), "diary.db"))
	}
	p.cmd.Stderr, p.cmd.Stdout = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	return p
}

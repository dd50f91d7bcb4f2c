package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nod/chat/catchup"
	"nod/internal/crash"
	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
	"nod/internal/redistest"
	"nod/memory"
)

// process is `bot run` as a process of its own, which can be killed.
type process struct {
	n   *service
	cmd *exec.Cmd
	out *buffer
}

// spawn starts the program as a process, with more flags; it does not wait until it is
// ready.
func (n *service) spawn(flags ...string) *process {
	n.t.Helper()
	p := &process{n: n}
	p.cmd, p.out = n.command("run", flags...)
	if err := p.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		if n.t.Failed() {
			n.t.Logf("a process wrote:\n%s", p.out)
		}
	})
	return p
}

// command is a command of the program as a process of its own, and what it writes.
func (n *service) command(name string, flags ...string) (*exec.Cmd, *buffer) {
	n.t.Helper()
	self, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	if n.binary != "" {
		self = n.binary
	}
	cmd, out := exec.Command(self), &buffer{}
	cmd.Args = append([]string{"bot", name, "--config", n.file}, flags...) // see TestMain
	cmd.Env = os.Environ()
	for k, v := range n.w.env() {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stderr, cmd.Stdout = out, out
	return cmd, out
}

// kill ends it as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
}

func TestSlackKillWalk(t *testing.T) {
	t.Parallel()
	killWalk(t, "", func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{NoLimits: true}) })
}

// The same on Redis, with calls that take as long as Slack's do.
func TestSlackKillWalkSlowly(t *testing.T) {
	t.Parallel()
	killWalk(t, "redis", func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{NoLimits: true, Slow: true}) })
}

func TestDiscordKillWalk(t *testing.T) {
	t.Parallel()
	killWalk(t, "", func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{NoLimits: true}) })
}

// killWalk kills the program at calls of the platform's API (crash.Points), before and
// after the call had its effect. A turn with an approval still ends with one
// answer, one steps message at the most, one approval message that shows its
// outcome, and one deployment at the most.
func killWalk(t *testing.T, store string, newWorld func(t *testing.T) world) {
	url := func(t *testing.T) string {
		if store == "redis" {
			return redistest.Start(t).URL()
		}
		return store
	}
	calls := 0
	t.Run("count", func(t *testing.T) { calls = killAt(t, newWorld(t), url(t), -1, false) })
	if calls < 6 {
		t.Fatalf("a turn makes %d calls: the walk does not see it", calls)
	}
	for _, n := range crash.Points(calls, 5) {
		i := n - 1
		for _, after := range []bool{false, true} {
			if store != "" && after == (i%2 == 0) {
				continue // as slow as Slack is: one side of each call is enough
			}
			t.Run(fmt.Sprintf("call %d after=%v", i, after), func(t *testing.T) {
				t.Parallel()
				killAt(t, newWorld(t), url(t), i, after)
			})
		}
	}
}

// killAt plays a turn, kills the process at its i-th call (-1: never) and starts
// another one. It gives the number of calls of the turn.
func killAt(t *testing.T, w world, store string, i int, after bool) (calls int) {
	n := newService(t, w, frail, setup{store: store})
	p := n.spawn()
	defer func() { p.kill() }()
	n.ready()
	ready := w.calls()
	struck, release := func() bool { return false }, func() {}
	if i >= 0 {
		struck, release = w.stall(i, after)
	}
	at := w.mention("ada", "deploy prod now")
	asked, killed := false, false
	within(t, 3*patience, "the turn has an answer", func() bool {
		if !killed && struck() {
			killed = true
			p.kill()
			release()
			p = n.spawn()
			n.ready()
		}
		asked = asked || n.approve(at)
		return n.count(at, "The tool says") > 0 && n.folded(at) && n.count(at, "Approved by") > 0 // which stands on its own card
	})
	calls = w.calls() - ready
	release()
	n.find(w.mentionIn("ada", at, "and again"), "You said", "and again") // a second post would have come by now
	n.checkOnce(at, i)
	return calls
}

// approve reacts to the approval message, once it is there.
func (n *service) approve(at place) bool {
	for _, p := range n.w.posts(at) {
		if holds(p.text, []string{"pprove", `{"env":"prod"}`}) {
			n.w.react("ada", p.place, "✅")
			return true
		}
	}
	return false
}

// folded says whether the steps message, if there is one, shows the end.
func (n *service) folded(at place) bool {
	return !slices.ContainsFunc(n.w.posts(at), func(p post) bool {
		// After 10 s Discord's sign of work has words, and a process that is killed leaves them.
		sign := strings.HasPrefix(p.text, "⏳ ") && !strings.HasPrefix(p.text, "⏳ Step")
		return !sign && (strings.Contains(p.text, "unning") || strings.Contains(p.text, "aiting for approval"))
	})
}

func (n *service) checkOnce(at place, i int) {
	for what, words := range map[string][]string{"answers": {"The tool says"}, "approval messages": {"pprove", `{"env":"prod"}`}, "steps messages": {"1 step ·"}} {
		if c := n.count(at, words...); c > 1 || c == 0 && what != "steps messages" {
			n.t.Errorf("killed at call %d: %d %s: %q", i, c, what, n.w.posts(at))
		}
	}
	if c := n.count(at, "Approved by"); c != 1 {
		n.t.Errorf("killed at call %d: the approval message shows no outcome", i)
	}
	if ran := n.ran(); len(ran) > 1 || len(ran) == 0 && n.count(at, "outcome unknown") == 0 {
		n.t.Errorf("killed at call %d: ran %q", i, ran)
	}
}

// Messages and approvals on Discord during a downtime are found, though the first
// process that looked was killed.
func TestDiscordKilledInItsLook(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		w := quickDiscord(t)
		n := newService(t, w, frail, setup{store: store})
		p := n.spawn()
		defer func() { p.kill() }()
		n.ready()
		card := n.ask(w.mention("ada", "deploy prod now"), `{"env":"prod"}`)
		eventually(t, "the card is known", func() bool { return len(w.reactions(card.place)) == 2 })
		p.kill()
		w.s.ForgetSessions() // as after some minutes
		other := w.s.AddChannel(w.guild, "other")
		meanwhile := w.in(other, "hello")
		w.react("ada", card.place, "✅")
		looks := w.s.Inject(fakediscord.Fault{Route: "GET /channels/{channel}/messages", Channel: other, Hang: true, Times: 1_000_000})
		votes := w.s.Inject(fakediscord.Fault{Route: "GET /channels/{channel}/messages/{message}", Hang: true, Times: 1_000_000})
		p = n.spawn()
		n.ready()
		n.find(w.dm("bob", "hello"), "You said")
		eventually(t, "it looks", func() bool { return looks.Hits() > 0 && votes.Hits() > 0 })
		p.kill()
		looks.Cancel()
		votes.Cancel()
		p = n.spawn()
		n.ready()
		n.find(meanwhile, "You said")
		n.find(card.place, "The tool says")
		if got := w.s.Gateway(); got.Resumes != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A look for what was missed goes back as far as the stores know what was put.
func TestLookBack(t *testing.T) {
	t.Parallel()
	if catchup.LookBack != memory.EventTTL {
		t.Errorf("a look goes back %v, and event ids are known for %v", catchup.LookBack, memory.EventTTL)
	}
}

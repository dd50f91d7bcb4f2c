package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
	"nod/lab"
)

// bot runs a command of the program, and gives what it prints.
func (n *service) bot(args ...string) (status int, out, errs string) {
	n.t.Helper()
	var o, e bytes.Buffer
	env := Env{In: strings.NewReader(""), Out: &o, Err: &e, Getenv: func(name string) (string, bool) {
		v, ok := n.w.env()[name]
		return v, ok
	}}
	status = Main(context.Background(), args, env)
	return status, o.String(), e.String()
}

// Recorded conversations are replayed while the service runs, on both stores. An
// unchanged replay gives the same; no tool runs, and nothing is posted. A turn with 👎
// becomes a case for the team's own checks.
func TestReplay(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		rule := obedient
		n := newService(t, newSlackWorld(t, fakeslack.Options{}), func(r fakellm.Request) fakellm.Reply {
			if r.Model == "other" && len(r.Tools) > 0 && strings.Contains(r.Whole(), "deploy web") && r.Last().Role != "tool" {
				return fakellm.Reply{Calls: []fakellm.Call{{Name: "look", Args: `{}`}}}
			}
			return rule(r)
		}, setup{store: store})
		n.start()
		at := n.w.mention("ada", "deploy web")
		n.w.react("ada", n.ask(at, "web").place, "✅")
		answer := n.find(at, "The tool says: deployed web")
		n.w.react("ada", answer.place, "👎")
		hello := n.w.dm("ada", "hello")
		n.find(hello, "You said: hello")
		eventually(t, "the person is asked what was wrong", func() bool { return len(n.w.told("ada", at)) > 0 })
		n.recorded(2)
		n.replays(at)

		path := filepath.Join(t.TempDir(), "cases.json")
		if status, out, errs := n.bot("replay", "--config", n.file, "--export-cases", path); status != exitFine || out != "" {
			t.Fatalf("export: status %d: %s%s", status, out, errs)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := lab.ReadCases(bytes.NewReader(raw))
		if err != nil || len(cases) != 1 || len(cases[0].Messages) != 1 || cases[0].Messages[0].Text != "deploy web" || len(cases[0].Results) != 1 {
			t.Fatalf("exported %s: %v", raw, err)
		}
		for file, want := range map[string]string{
			string(raw): "FAIL " + cases[0].Name + ": it expects nothing yet",
			strings.Replace(string(raw), `"expect":{}`, `"expect":{"calls":[{"name":"deploy"}],"answer":"deployed"}`, 1): "ok ",
		} {
			if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, out, errs := n.bot("replay", "--config", n.file, "--cases", path); !strings.HasPrefix(out, want) {
				t.Errorf("cases: %q %s, want %q", out, errs, want)
			}
		}
	})
}

// A call that ran since it was allowed for a while runs in the replay too, and asks
// where the new file allows nothing.
func TestReplayOfGrants(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		n := newService(t, newSlackWorld(t, fakeslack.Options{}), obedient, setup{store: store, extra: "approvals: {grants: {most: 1h, uses: 20}}"})
		n.start()
		at := n.w.mention("ada", "deploy web")
		n.ask(at, "web")
		eventually(t, "the approval is noted", func() bool { return n.waits() == 1 }) // a word before that is about nothing yet
		n.w.reply("ada", at, "allow 1 1h")
		n.find(at, "The tool says: deployed web")
		n.w.reply("ada", at, "deploy web")
		eventually(t, "it runs again", func() bool { return len(n.ran()) == 2 })
		eventually(t, "it is answered again", func() bool { return n.count(at, "The tool says: deployed web") == 2 })
		n.recorded(2)
		off := n.rewrite("off.yaml", "grants: {most: 1h, uses: 20}", "quorum: 1")
		for file, asked := range map[string]int{n.file: 1, off: 2} {
			status, out, errs := n.bot("replay", "--config", file, "--mode", "rules", "--json")
			var r lab.Report
			if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitFine || r.Turns != 2 || r.New.Asked != asked {
				t.Errorf("status %d, %v: %s%s, want %d approvals", status, err, out, errs, asked)
			}
		}
	})
}

// recorded waits until so many turns can be replayed: an answer is read before the
// entry that ends its turn is in the log.
func (n *service) recorded(turns int) {
	n.t.Helper()
	eventually(n.t, fmt.Sprintf("%d turns are over", turns), func() bool {
		_, out, _ := n.bot("replay", "--config", n.file, "--mode", "rules", "--json")
		var r lab.Report
		return json.Unmarshal([]byte(out), &r) == nil && r.Turns == turns
	})
}

// replays replays what was said at a place and somewhere else, unchanged and with
// another model.
func (n *service) replays(at place) {
	n.t.Helper()
	posts, ran := n.w.posts(at), len(n.ran())
	for _, mode := range []string{"calls", "turns", "rules"} {
		status, out, errs := n.bot("replay", "--config", n.file, "--mode", mode, "--json", "--yes")
		var r lab.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitFine {
			n.t.Fatalf("%s: status %d, %v: %s%s", mode, status, err, out, errs)
		}
		if r.Turns != 2 || r.Same != 2 || r.Old.Asked != 1 || r.New.Asked != 1 {
			n.t.Errorf("%s: %s", mode, out)
		}
	}
	other := n.rewrite("other.yaml", "model: m", "model: other")
	status, out, errs := n.bot("replay", "--config", other, "--yes")
	if status != exitFine || !strings.Contains(out, "2 turns: 1 the same, 1 differ") || !strings.Contains(out, "new calls: look {}") || !strings.Contains(errs, "model other: about") {
		n.t.Errorf("another model: status %d: %s%s", status, out, errs)
	}
	if status, _, errs := n.bot("replay", "--config", n.file); status != exitFailed || !strings.Contains(errs, "Go on? [y/N]") {
		n.t.Errorf("nobody said yes: status %d: %s", status, errs)
	}
	if len(n.ran()) != ran || ran != 1 {
		n.t.Errorf("%d deployments, %d before", len(n.ran()), ran)
	}
	if now := n.w.posts(at); len(now) != len(posts) {
		n.t.Errorf("%d posts, %d before", len(now), len(posts))
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nod/internal/fakeslack"
)

// granted gives the scopes and events of the manifest that a file needs.
func granted(t *testing.T, w world, file string) (scopes, events []string) {
	t.Helper()
	status, out, errs := commandLine(w, "manifest", "slack", "--config", file)
	if status != exitFine {
		t.Fatalf("manifest: status %d\n%s", status, errs)
	}
	var m struct {
		OAuth    struct{ Scopes struct{ Bot []string } } `json:"oauth_config"`
		Settings struct {
			Events struct {
				Bot []string `json:"bot_events"`
			} `json:"event_subscriptions"`
		}
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatal(err)
	}
	return m.OAuth.Scopes.Bot, m.Settings.Events.Bot
}

// An app made from the printed manifest has the scopes and the events for all that
// the program does: none of its calls lacks one.
func TestSlackManifestSuffices(t *testing.T) {
	t.Parallel()
	s := setup{extra: `approvals: {approvers: [requester, "group:S012"], notify: [mention, dm]}`}
	plain := newSlackWorld(t, fakeslack.Options{})
	scopes, events := granted(t, plain, newService(t, plain, frail, s).file)
	w := newSlackWorld(t, fakeslack.Options{Scopes: scopes, Events: events})
	n := newService(t, w, frail, s)
	n.start()
	root := w.s.Say("U0BOB", "C0GEN", "prod is down in <#C0GEN>")
	n.find(w.mentionIn("ada", place{"C0GEN", root, root}, "hello"), "You said")
	n.find(w.attach("ada", "hello", "a.txt", "alpha"), "You said")
	n.find(w.dm("ada", "write the report"), "report")
	for _, vote := range []func(post){
		func(ask post) { w.react("bob", ask.place, "✅") },
		func(ask post) {
			w.s.Click("U0ADA", fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: "nod_deny"})
			eventually(t, "a form opens, or Slack lets none open any more", func() bool {
				for _, v := range w.s.Views("U0ADA") {
					if v.Type == "modal" {
						w.s.CloseView("U0ADA", v.ID)
						return true
					}
				}
				return n.count(ask.place, "Denied by") > 0
			})
		},
	} {
		at := w.mention("ada", "deploy prod now")
		ask := n.ask(at, `{"env":"prod"}`)
		w.react("eve", ask.place, "✅")
		eventually(t, "eve is told", func() bool { return len(w.told("eve", at)) > 0 })
		w.s.OpenHome("U0ADA", "home")
		vote(ask)
		n.find(at, "The tool says")
	}
	ts := w.s.Say("U0BOB", "C0GEN", "and this?")
	w.s.Shortcut("U0ADA", "C0GEN", ts, "nod_ask")
	n.find(place{"C0GEN", ts, ts}, "You said")
	n.stop()
	n.start()
	eventually(t, "it looks everywhere", func() bool { return len(w.s.Calls("users.conversations")) > 4 })
	n.find(w.dm("bob", "hello"), "You said")
	for _, c := range w.s.Calls("") {
		if c.Error == "missing_scope" {
			t.Errorf("%s lacks a scope", c.Method)
		}
	}
}

// Every method of the Web API that the adapter calls is in one of the tables in
// which all its words are tried, but for those that only check calls.
func TestSlackEveryMethodIsTried(t *testing.T) {
	t.Parallel()
	read := func(pattern string) string {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		var all strings.Builder
		for _, f := range files {
			if strings.HasSuffix(f, "manifest_test.go") || strings.Contains(f, "adapters") && strings.HasSuffix(f, "_test.go") {
				continue
			}
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(raw)
		}
		return all.String()
	}
	tried := read("slack_*_test.go")
	called := regexp.MustCompile(`"((?:agents|apps|assistant|auth|chat|conversations|files|reactions|usergroups|users|views)\.[A-Za-z.]+)"`)
	methods := map[string]bool{}
	for _, m := range called.FindAllStringSubmatch(read("../../adapters/slack/*.go"), -1) {
		methods[m[1]] = true
	}
	for m := range methods {
		if !strings.Contains(tried, `"`+m+`"`) && m != "agents.sessions" { // the name of a form
			t.Errorf("no word of %s is tried", m)
		}
	}
	if len(methods) < 18 {
		t.Errorf("only %d methods were found", len(methods))
	}
}

package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"nod/chat"
	"nod/memory"
)

// An order is one only when what follows the name is a JSON object, or was meant to
// be one.
func TestParseRun(t *testing.T) {
	for text, want := range map[string]string{
		`run deploy {"env":"prod"}`:                   `deploy {"env":"prod"}`,
		"  RUN deploy\n{\"env\": \"prod\"}\n":         `deploy {"env": "prod"}`,
		"run `deploy` `{\"env\":\"prod\"}`":           `deploy {"env":"prod"}`,
		"run deploy ```json\n{\"env\":\"prod\"}\n```": `deploy {"env":"prod"}`,
		"run deploy```{}```":                          `deploy {}`,
		`run deploy{}`:                                `deploy {}`,
		`run deploy {“env”: “prod”}`:                  `deploy {"env": "prod"}`,
		`run deploy {"say":"“well”"}`:                 `deploy {"say":"“well”"}`,
		`run deploy {"env":"prod"`:                    `deploy {"env":"prod"`,
		`run deploy {'env':'prod'}`:                   `deploy {'env':'prod'}`,
		`run deploy`:                                  "",
		`run {"env":"prod"}`:                          "",
		`run the deployment {"env":"prod"}`:           "",
		`run deploy {of today}`:                       "",
		`running deploy {}`:                           "",
		`please run deploy {}`:                        "",
		"run x {" + strings.Repeat(" ", mostChange):   "",
	} {
		o, ok := parseRun(text)
		got := ""
		if ok {
			got = o.tool + " " + o.args
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// Whoever sits at the terminal is spoken to, where the system has no name for them.
func TestRanByYou(t *testing.T) {
	plain := func(s string) string { return s }
	for name, want := range map[string]string{"you": "you run deploy {}", "ada": "ada runs deploy {}"} {
		c := &call{Call: memory.Call{Tool: "deploy", Args: "{}"}}
		u := &turn{steps: []*step{{by: &chat.User{ID: "u", Name: name}, calls: []*call{c}}}}
		if got := u.ran(plain); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		c.result = &memory.Result{State: chat.CallDone}
		if got := u.ran(plain); got != name+" ran deploy {}" {
			t.Errorf("when it is over: %q", got)
		}
	}
}

func FuzzParseRun(f *testing.F) {
	for _, s := range []string{`run a {}`, "run `a` ```json\n{\"b\":1}```", `run a {“b”: 1}`, `run a {"b"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, ok := parseRun(text)
		if ok && (o.tool == "" || !strings.HasPrefix(o.args, "{") || len(text) > mostChange) {
			t.Errorf("%q is an order of %q with %q", text, o.tool, o.args)
		}
		if ok && json.Valid([]byte(o.args)) && !isObject(o.args) {
			t.Errorf("%q has arguments that are no object: %q", text, o.args)
		}
	})
}

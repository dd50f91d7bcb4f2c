package thread

import (
	"encoding/json"
	"strings"
	"testing"
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
			got = o.Tool + " " + o.Args
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

func FuzzParseRun(f *testing.F) {
	for _, s := range []string{`run a {}`, "run `a` ```json\n{\"b\":1}```", `run a {“b”: 1}`, `run a {"b"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, ok := parseRun(text)
		if ok && (o.Tool == "" || !strings.HasPrefix(o.Args, "{") || len(text) > mostChange) {
			t.Errorf("%q is an order of %q with %q", text, o.Tool, o.Args)
		}
		if ok && json.Valid([]byte(o.Args)) && !IsObject(o.Args) {
			t.Errorf("%q has arguments that are no object: %q", text, o.Args)
		}
	})
}

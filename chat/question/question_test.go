package question_test

import (
	"encoding/json"
	"strings"
	"testing"

	"nod/chat/question"
)

// A question is refused if it has nested fields, is too large for a chat, or asks for a
// secret.
func TestFields(t *testing.T) {
	t.Parallel()
	object := func(fields string) string { return `{"type":"object","properties":{` + fields + `}}` }
	tests := []struct{ name, schema, want string }{
		{"nothing", ``, ``},
		{"a confirmation", `{"type":"object","properties":{}}`, ``},
		{"text", object(`"repo":{"type":"string","title":"Repository","description":"Its\nname"}`), "repo: text (may be left out). Repository: Its name"},
		{"what must be there stands first", `{"type":"object","required":["z"],"properties":{"a":{"type":"number"},"z":{"type":"boolean"}}}`, "z: yes or no\na: a number (may be left out)"},
		{"a choice", object(`"env":{"type":"string","enum":["prod","test"],"enumNames":["Production","Test"]}`), "env: one of prod (Production), test (Test) (may be left out)"},
		{"a choice with titles", object(`"env":{"type":"string","oneOf":[{"const":"p","title":"Production"}]}`), "env: one of p (Production) (may be left out)"},
		{"what hides is written out", object(`"a":{"type":"string","description":"x\u202ey"}`), "a: text (may be left out). x\\u202ey"},
		{"nested", object(`"a":{"type":"object","properties":{"b":{"type":"string"}}}`), "error"},
		{"a list", object(`"a":{"type":"array","items":{"type":"string"}}`), "error"},
		{"a reference", object(`"a":{"$ref":"#/$defs/a"}`), "error"},
		{"a choice of types", object(`"a":{"type":["string","null"]}`), "error"},
		{"a name that breaks its line", object(`"a\nb: c":{"type":"string"}`), "error"},
		{"a mention for a name", object("\"<@U1>`\":{\"type\":\"string\"}"), "error"},
		{"something needed that is not described", `{"type":"object","required":["x"]}`, "error"},
		{"no object", `{"type":"string"}`, "error"},
		{"no schema", `[1]`, "error"},
		{"a password", object(`"password":{"type":"string"}`), "error"},
		{"a key", object(`"githubApiKey":{"type":"string"}`), "error"},
		{"a token", object(`"x":{"type":"string","title":"Your access token"}`), "error"},
		{"a format for secrets", object(`"x":{"type":"string","format":"password"}`), "error"},
		{"a plain token", object(`"github_token":{"type":"string"}`), "error"},
		{"short words for secrets", object(`"db_pwd":{"type":"string"}`), "error"},
		{"a key to sign with", object(`"signing_key":{"type":"string"}`), "error"},
		{"a description that asks for one", object(`"x":{"type":"string","description":"paste the API key here"}`), "error"},
		{"several", object(`"x":{"type":"string","description":"paste your passwords here"}`), "error"},
		{"a code of a phone", object(`"x":{"type":"string","description":"the verification code"}`), "error"},
		{"a word with a hidden character", object(`"x":{"type":"string","description":"your pass\u200bword"}`), "error"},
		{"a word with a letter of another alphabet", object(`"x":{"type":"string","title":"Your p\u0430ssword"}`), "error"},
		{"a word of wide letters", object(`"x":{"type":"string","title":"Your \uff50assword"}`), "error"},
		{"no secret", object(`"tokens":{"type":"integer"},"keyboard":{"type":"string"},"pinned":{"type":"boolean"}`), "keyboard: text (may be left out)\npinned: yes or no (may be left out)\ntokens: a number (may be left out)"},
		{"too long", object(`"a":{"type":"string","description":"` + strings.Repeat("x", 500) + `"}`), "error"},
		{"a large schema", object(`"a":{"type":"string","x":"` + strings.Repeat("x", 20_000) + `"}`), "error"},
	}
	for _, tt := range tests {
		fields, err := question.Fields(tt.schema)
		got := question.Describe(fields)
		if err != nil {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, err, tt.want)
		}
	}
}

// A reply is read leniently; the error names the value that does not fit.
func TestRead(t *testing.T) {
	t.Parallel()
	const (
		text   = `{"type":"object","required":["repo"],"properties":{"repo":{"type":"string"}}}`
		number = `{"type":"object","properties":{"n":{"type":"number"}}}`
		flag   = `{"type":"object","required":["sure"],"properties":{"sure":{"type":"boolean"}}}`
		choice = `{"type":"object","required":["env"],"properties":{"env":{"type":"string","oneOf":[{"const":"p","title":"Production"},{"const":"t"}]}}}`
		more   = `{"type":"object","required":["env","text"],"properties":{"env":{"type":"string","enum":["prod"]},"text":{"type":"string"},"n":{"type":"integer"}}}`
	)
	tests := []struct{ name, schema, reply, want string }{
		{"a confirmation", ``, "Yes!", `{}`},
		{"none", ``, "no", "say `yes`, or `decline`"},
		{"text", text, " nod: the bot\nand more ", `{"repo":"nod: the bot\nand more"}`},
		{"text is needed", text, "-", "`repo` is needed"},
		{"a number", number, "1 200.5", `{"n":1200.5}`},
		{"a large one", number, "1e400", "`n` takes a number"},
		{"none that JSON knows", number, "0x10", "`n` takes a number"},
		{"it may be left out", number, "-", `{}`},
		{"yes", flag, "👍", `{"sure":true}`},
		{"no is an answer", flag, "no", `{"sure":false}`},
		{"neither", flag, "perhaps", "`sure` takes yes or no"},
		{"by title", choice, "production", `{"env":"p"}`},
		{"as it is shown", choice, "p (Production)", `{"env":"p"}`},
		{"none of them", choice, "x", "`env` takes one of what is listed"},
		{"lines", more, "- Env: PROD\ntext: one\ntwo: three\nn: 4", `{"env":"prod","n":4,"text":"one\ntwo: three"}`},
		{"a line is missing", more, "env: prod", "`text` is needed"},
		{"twice", more, "env: prod\nenv: prod", "`env` is there twice"},
		{"no lines", more, "prod", "write a line for each, as in `env: …`"},
		{"too long", text, strings.Repeat("x", 5000), "it is longer than 4000 bytes"},
	}
	for _, tt := range tests {
		fields, err := question.Fields(tt.schema)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		raw, err := question.Read(fields, tt.reply)
		got := string(raw)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Nothing that a server asks, or a person replies, breaks anything, and what is read
// is an object of the fields.
func FuzzRead(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}}}`, "a: x\nb: 1")
	f.Add(`{"properties":{"a":{"type":"string","oneOf":[{"const":"x"}]}}}`, "x")
	f.Fuzz(func(t *testing.T, schema, reply string) {
		fields, err := question.Fields(schema)
		if err != nil {
			return
		}
		for line := range strings.Lines(question.Describe(fields)) {
			if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x00\x1b\u202e\u200b\r") {
				t.Fatalf("something hides in %q", line)
			}
		}
		raw, err := question.Read(fields, reply)
		if err != nil {
			return
		}
		var values map[string]any
		if err := json.Unmarshal(raw, &values); err != nil || len(values) > len(fields) {
			t.Fatalf("%q: %v", raw, err)
		}
	})
}

package args

import (
	"encoding/json"
	"strings"
	"testing"
)

func mustCompile(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestText(t *testing.T) {
	schemas := map[string]*Schema{
		"two": mustCompile(t, `{"type":"object","properties":{"service":{"type":"string"},"n":{"type":"integer"}},"required":["service","n"]}`),
		"one": mustCompile(t, `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`),
		"opt": mustCompile(t, `{"type":"object","properties":{"zone":{"type":"string"}}}`),
		"int": mustCompile(t, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		"":    nil,
	}
	tests := []struct{ name, schema, in, want string }{
		{"strict", "two", `{"service": "api", "n": 1}`, `{"service":"api","n":1}`},
		{"observation", "two", "{\"service\":\"api\"}\nObservation: restarted", `{"service":"api"}`},
		{"only an observation", "two", "Observation: restarted", `{}`},
		{"first value", "two", "{\"service\":\"api\"}\n{\"service\":\"web\"}", `{"service":"api"}`},
		{"one brace too many", "two", `{"service":"api"}}`, `{"service":"api"}`},
		{"prose before", "two", `Input: {"n":1}`, `{"n":1}`},
		{"prose and fence before", "two", "Here:\n" + fence + "json\n{\"n\":1}\n" + fence, `{"n":1}`},
		{"fence", "two", fence + "json\n{\"n\":1}\n" + fence, `{"n":1}`},
		{"one backtick", "two", "`{\"n\":1}`", `{"n":1}`},
		{"no schema", "", `{"n":1}`, `{"n":1}`},
		{"single quotes", "two", `{'service': 'api', 'n': 1}`, `{"service":"api","n":1}`},
		{"quote within", "two", `{'service': "it's"}`, `{"service":"it's"}`},
		{"Python words", "two", `{"a": True, "b": None, "c": False}`, `{"a":true,"b":null,"c":false}`},
		{"trailing comma", "two", `{"n": 1,}`, `{"n":1}`},
		{"missing comma", "two", `{"a": 1 "b": 2}`, `{"a":1,"b":2}`},
		{"unquoted", "two", `{service: api, n: 2}`, `{"service":"api","n":2}`},
		{"curly quotes", "two", `{“service”: “api”}`, `{"service":"api"}`},
		{"raw newline", "two", "{\"service\": \"a\nb\"}", `{"service":"a\nb"}`},
		{"comments", "two", "{\"n\": 1, // one\n \"m\": /* two */ 2}", `{"n":1,"m":2}`},
		{"bracket in a string", "two", `{'a': '}{]['}`, `{"a":"}{]["}`},
		{"invalid escape", "two", `{"re": "\d+\.\w"}`, `{"re":"\\d+\\.\\w"}`},
		{"invalid escape of a quote", "two", `{"a": "it\'s"}`, `{"a":"it\\'s"}`},
		{"invalid escape, too long to repair", "two", `{"a": "\d` + strings.Repeat("x", maxRepair) + `"}`, `{"a":"\\d` + strings.Repeat("x", maxRepair) + `"}`},
		{"valid escape", "two", `{"re": "\\d\n\u00e9"}`, `{"re":"\\d\n\u00e9"}`},
		{"half an escape", "two", `{"p": "C:\users"}`, `{"p":"C:\\users"}`},
		{"quotes in a string", "two", `{"q": "he said "hi" to me"}`, `{"q":"he said \"hi\" to me"}`},
		{"big number", "two", `{n: 12345678901234567890}`, `{"n":12345678901234567890}`},
		{"empty", "two", "", `{}`},

		{"bare", "one", "colour of the sky", `{"query":"colour of the sky"}`},
		{"bare, quoted", "one", `"the \"sky\""`, `{"query":"the \"sky\""}`},
		{"bare, two quoted", "one", `"sky" and "sea"`, `{"query":"\"sky\" and \"sea\""}`},
		{"bare, with braces", "one", `f(x) = {x}`, `{"query":"f(x) = {x}"}`},
		{"bare, a list", "one", `[a, b]`, `{"query":"[a, b]"}`},
		{"bare, fenced", "one", fence + "python\nprint(1)\nprint({})\n" + fence, `{"query":"print(1)\nprint({})"}`},
		{"bare, observation", "one", "sky\nObservation: blue", `{"query":"sky"}`},
		{"bare, a number", "one", "42", `{"query":"42"}`},
		{"bare, none", "one", "None", `{"query":"None"}`},
		{"bare, markup kept", "one", "a < b & c", `{"query":"a < b & c"}`},
		{"object all the same", "one", `{"query": "sky"}`, `{"query":"sky"}`},
		{"bare, optional", "opt", "Tokyo", `{"zone":"Tokyo"}`},
		{"nothing, optional", "opt", "None", `{}`},
		{"nothing, unknown tool", "", "N/A", `{}`},

		{"bare, no string", "int", `42`, `!must be one JSON object`},
		{"bare, two needed", "two", `api 3`, `!must be one JSON object`},
		{"list", "two", `["api"]`, `!must be one JSON object`},
		{"cut", "two", `{"service": "ap`, `!end in the middle`},
		{"cut, bare allowed", "one", `{"query": "sk`, `!end in the middle`},
		{"cut, quoted", "one", `"sky`, `!end in the middle`},
		{"cut, single quotes", "two", `{'service': 'ap`, `!end in the middle`},
		{"cut, closed string", "two", `{'service': 'api'`, `!end in the middle`},
		{"cut, unquoted", "two", `{service: ap`, `!end in the middle`},
		{"cut by an observation", "two", "{'service':\nObservation: x'}", `!end in the middle`},
		{"cut in a comment", "two", `{a: 1 /* }`, `!end in the middle`},
		{"cut within a fence", "two", fence + "json\n{'a': 1", `!end in the middle`},
		{"only a fence", "one", fence + "json\n", `!end in the middle`},
		{"brackets crossed", "two", `{"a": [1, 2}`, `!brackets`},
		{"brackets crossed, single quotes", "two", `{'a': [1, 2}`, `!brackets`},
		{"elided", "two", `{"a": [1, 2, ...]}`, `!leave something out`},
		{"elided, one character", "two", `{"a": 1, …}`, `!leave something out`},
		{"no value", "two", `{"a": , "b": 1}`, `!has no value`},
		{"no last value", "two", `{"a": }`, `!has no value`},
		{"string ends early", "two", `{"a": "say "}"}`, `!go on after`},
		{"object ends early", "two", `{"a": {"b": 1}}, "c": 2}`, `!go on after`},
		{"repaired object ends early", "two", `{'a': {'b': 1}}}`, `!go on after`},
		{"name twice after repair", "two", `{'a': 1, "a": 2}`, `!twice`},
		{"too long to repair", "two", `{'a': '` + strings.Repeat("x", maxRepair) + `'}`, `!too long to repair`},
		{"too many quotes to repair", "two", `{'a': [` + strings.Repeat("'a', ", 200) + `]}`, `!too long to repair`},
		{"too deep to repair", "two", `{'a': ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `!brackets`},
		{"not UTF-8", "one", "\xff", `!UTF-8`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Text(tt.in, schemas[tt.schema])
			check(t, tt.in, got, err, tt.want)
		})
	}
}

func TestSingle(t *testing.T) {
	tests := []struct{ parameters, want string }{
		{`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"]}`, "q"},
		{`{"type":"object","properties":{"q":{"type":"string"}}}`, "q"},
		{`{"type":"object","properties":{"q":{"type":"string"},"r":{"type":"string"}}}`, ""},
		{`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, ""},
		{`{"type":"object"}`, ""},
		{``, ""},
		{`{`, ""},
	}
	for _, tt := range tests {
		if got, ok := Single(json.RawMessage(tt.parameters)); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.parameters, got, ok, tt.want)
		}
	}
}

var benchParameters = json.RawMessage(`{"type":"object","properties":{"service":{"type":"string","enum":["api","web"]},"n":{"type":"integer"}},"required":["service"],"additionalProperties":false}`)

func BenchmarkSingle(b *testing.B) {
	for b.Loop() {
		Single(benchParameters)
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(benchParameters); err != nil {
			b.Fatal(err)
		}
	}
}

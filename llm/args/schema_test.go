package args

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	const restart = `{"type":"object","properties":{"service":{"type":"string","enum":["api","web"]},"n":{"type":"integer","minimum":1,"maximum":9007199254740993}},"required":["service"],"additionalProperties":false}`
	property := func(schema string) string {
		return `{"type":"object","properties":{"x":` + schema + `}}`
	}
	tests := []struct {
		name, schema, in string
		want             []string
	}{
		{"fits", restart, `{"service":"api","n":3}`, nil},
		{"enum", restart, `{"service":"db"}`, []string{`/service: must be one of "api", "web"`}},
		{"all at once", restart, `{"n":0,"force":true,"a/b":1}`, []string{
			"/a~1b: is not a parameter; there are n, service",
			"/force: is not a parameter; there are n, service",
			"/n: must be at least 1",
			"/service: is missing",
		}},
		{"big integer, as float equal", restart, `{"service":"api","n":9007199254740994}`, []string{"/n: must be at most 9007199254740993"}},
		{"big integer", restart, `{"service":"api","n":9007199254740993}`, nil},
		{"fraction", restart, `{"service":"api","n":1.5}`, []string{"/n: must be integer, not number"}},
		{"integer written as 2.0", restart, `{"service":"api","n":2.0}`, nil},
		{"type", restart, `{"service":7}`, []string{"/service: must be string, not number"}},
		{"no parameters", `{"type":"object","additionalProperties":false}`, `{"a":1}`, []string{"/a: is not a parameter; there are none"}},
		{"false schema", property(`false`), `{"x":1}`, []string{"/x: is not a parameter; there are x"}},
		{"const", property(`{"const":"<yes>"}`), `{"x":1}`, []string{`/x: must be "<yes>"`}},
		{"pattern", property(`{"pattern":"^[a-z]+$"}`), `{"x":"A"}`, []string{"/x: must match the pattern ^[a-z]+$"}},
		{"pattern that looks ahead", property(`{"pattern":"^(?!prod-)[a-z-]+$"}`), `{"x":"prod-db; rm -rf /"}`, []string{"/x: must match the pattern ^(?!prod-)[a-z-]+$"}},
		{"pattern that looks ahead, with its value", property(`{"pattern":"^(?!prod-)[a-z-]+$"}`), `{"x":"web"}`, nil},
		{"pattern that looks ahead, with one line more", property(`{"pattern":"^(?!prod-)[a-z-]+$"}`), `{"x":"web\n"}`, []string{"/x: must match the pattern ^(?!prod-)[a-z-]+$"}},
		{"pattern with more repetitions than Go takes", property(`{"pattern":"^a{1,1500}$"}`), `{"x":"b"}`, []string{"/x: must match the pattern ^a{1,1500}$"}},
		{"pattern that takes for ever", property(`{"pattern":"^(?=(a+)+b$)"}`), `{"x":"` + strings.Repeat("a", 60) + `"}`, []string{errTooSlow.Error()}},
		{"no such pattern, which takes for ever", property(`{"not":{"pattern":"^(?=(a+)+b$)"}}`), `{"x":"` + strings.Repeat("a", 60) + `"}`, []string{errTooSlow.Error()}},
		{"property name like a keyword", `{"type":"object","properties":{"pattern":{"type":"string"},"patternProperties":{"type":"string"}},"required":["pattern"]}`, `{}`, []string{"/pattern: is missing"}},
		{"pattern properties that look ahead", `{"type":"object","patternProperties":{"^(?!a)":{"type":"integer"},"^n":{"type":"integer"}},"additionalProperties":false}`, `{"a":1,"b":"c","n":2}`, []string{"/a: is not a parameter; there are none", "/b: must be integer, not string"}},
		{"format", property(`{"format":"ipv4"}`), `{"x":"999.1.1.1"}`, []string{"/x: must be a valid ipv4"}},
		{"unknown format", property(`{"format":"colour"}`), `{"x":"y"}`, nil},
		{"lengths", property(`{"minLength":2}`), `{"x":"é"}`, []string{"/x: must have at least 2 characters, not 1"}},
		{"items", property(`{"maxItems":1,"items":{"type":"string"}}`), `{"x":["a",2]}`, []string{"/x/1: must be string, not number", "/x: must have at most 1 items, not 2"}},
		{"unique", property(`{"uniqueItems":true}`), `{"x":[1,2,1.0]}`, []string{"/x: must not hold an item twice, as 0 and 2 are"}},
		{"limits", property(`{"exclusiveMinimum":0.1,"multipleOf":0.25}`), `{"x":0.1}`, []string{"/x: must be a multiple of 0.25", "/x: must be more than 0.1"}},
		{"any of", property(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), `{"x":1}`, []string{"/x: fits none of what is allowed: (/x: must be string, not number) or (/x: must be null, not number)"}},
		{"one of", property(`{"oneOf":[{"const":1},{"const":2}]}`), `{"x":3}`, []string{"/x: fits none of what is allowed: (/x: must be 1) or (/x: must be 2)"}},
		{"nested", property(`{"type":"object","additionalProperties":false,"required":["y"]}`), `{"x":{"z":1}}`, []string{"/x/y: is missing", "/x/z: is not allowed here"}},
		{"reference inside", `{"type":"object","$defs":{"s":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/s"}}}`, `{"x":1}`, []string{"/x: must be string, not number"}},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"s":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/s"}}}`, `{"x":1}`, []string{"/x: must be string, not number"}},
		{"recursive", `{"type":"object","properties":{"x":{"$ref":"#"}},"additionalProperties":false}`, `{"x":{"x":{"y":1}}}`, []string{"/x/x/y: is not allowed here"}},
		{"no schema", ``, `{"x":1}`, nil},
		{"null schema", `null`, `[]`, []string{"must be object, not array"}},
		{"not JSON", ``, `{"x":`, []string{ErrUnclosed.Error()}},
		{"two values", ``, `{} {}`, []string{errRemainder.Error()}},
		{"number that would take megabytes", property(`{"minimum":1}`), `{"x":1e999999999}`, []string{"a number has more than 1000 digits or an exponent beyond 1000; write a smaller one"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := mustCompile(t, tt.schema).Check(json.RawMessage(tt.in))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckIsShort(t *testing.T) {
	var names, args []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("%q", strings.Repeat("n", i+1)))
		args = append(args, fmt.Sprintf("%q:%d", strings.Repeat("m", i+1), i))
	}
	s := mustCompile(t, `{"type":"object","properties":{"x":{"enum":[`+strings.Join(names, ",")+`]}},"additionalProperties":false}`)
	got := s.Check(json.RawMessage(`{"x":0,` + strings.Join(args, ",") + `}`))
	if len(got) != maxViolations+1 || got[maxViolations] != "and 81 more" {
		t.Errorf("%d violations, the last is %q", len(got), got[len(got)-1])
	}
	enum := s.Check(json.RawMessage(`{"x":0}`))
	if len(enum) != 1 || !strings.HasSuffix(enum[0], "… (80 more)") {
		t.Errorf("a long enum is told as %q", enum)
	}
}

func TestCompileRefuses(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(secret, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, in, want string }{
		{"file reference", `{"type":"object","properties":{"x":{"$ref":"file://` + secret + `"}}}`, "not allowed"},
		{"relative reference", `{"type":"object","properties":{"x":{"$ref":"schema.json"}}}`, "not allowed"},
		{"web reference", `{"type":"object","properties":{"x":{"$ref":"http://127.0.0.1:1/x"}}}`, "not allowed"},
		{"unknown draft", `{"type":"object","$schema":"https://example.com/draft"}`, "not allowed"},
		{"base elsewhere", `{"type":"object","$id":"file:///etc/","properties":{"x":{"$ref":"passwd"}}}`, "not allowed"},
		{"dangling reference", `{"type":"object","properties":{"x":{"$ref":"#/$defs/none"}}}`, "compile JSON Schema"},
		{"not a schema", `{"type":"object","properties":{"x":{"type":"sting"}}}`, "/properties/x/type"},
		{"type of all", `{"type":"array"}`, "must be object"},
		{"a pattern that nobody can read", `{"type":"object","properties":{"x":{"pattern":"(?<="}}}`, ErrPattern.Error()},
		{"a pattern of names that nobody can read", `{"type":"object","patternProperties":{"[":{}}}`, ErrPattern.Error()},
		{"a list", `[]`, "must be an object"},
		{"not JSON", `{"type":`, "read JSON Schema"},
		{"name twice", `{"type":"object","type":"object"}`, "twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile(json.RawMessage(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestMeant(t *testing.T) {
	schema, err := Compile(json.RawMessage(`{"type":"object","additionalProperties":false,"required":["q"],"properties":{
		"q":{"type":"string"},"limit":{"type":"integer"},"after":{"type":"string","format":"date"},"note":{"type":"string"},"maybe":{"type":["integer","null"]},
		"tags":{"type":"array","items":{"type":"string"}},"either":{"anyOf":[{"type":"integer"},{"type":"boolean"}]},"mode":{"enum":["a","b"]},"list":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"string"}}}},
		"in":{"type":"object","properties":{"to":{"type":"string"},"must":{"type":"integer"}},"required":["must"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, in, want string }{
		{"all is right", `{"q":"x", "limit":1}`, `{"q":"x", "limit":1}`},
		{"null", `{"q":"x","limit":null,"after":null}`, `{"q":"x"}`},
		{"empty strings", `{"q":"x","limit":"","after":"","mode":"","either":""}`, `{"q":"x"}`},
		{"an empty string that is allowed", `{"q":"","note":"","limit":""}`, `{"note":"","q":""}`},
		{"null that is allowed", `{"q":"x","maybe":null,"tags":null}`, `{"maybe":null,"q":"x"}`},
		{"empty lists", `{"q":"x","limit":[],"in":[],"tags":[]}`, `{"q":"x","tags":[]}`},
		{"null of a name that there is not", `{"q":"x","gone":null,"none":[]}`, `{"q":"x"}`},
		{"null where one is needed", `{"q":null}`, `{"q":null}`},
		{"null further in", `{"q":"x","in":{"must":1,"to":null}}`, `{"in":{"must":1},"q":"x"}`},
		{"null further in where one is needed", `{"q":"x","in":{"must":null}}`, `{"q":"x","in":{"must":null}}`},
		{"null within a list", `{"q":"x","list":[{"id":1,"note":null},{"id":2,"note":""}]}`, `{"list":[{"id":1},{"id":2,"note":""}],"q":"x"}`},
		{"an item that is null stays", `{"q":"x","tags":["a",null]}`, `{"q":"x","tags":["a",null]}`},
		{"a string of white space", `{"q":"x","limit":" ","after":"\n"}`, `{"q":"x"}`},
		{"null as a string", `{"q":"x","limit":"null","after":"null","mode":"null"}`, `{"q":"x"}`},
		{"null as a string that is allowed", `{"q":"null","note":"null"}`, `{"q":"null","note":"null"}`},
		{"an object as a string, twice", `{"q":"x","in":"\"{\\\"must\\\":1}\""}`, `{"in":{"must":1},"q":"x"}`},
		{"an empty object as a string", `{"q":"x","limit":"{}","tags":"[]"}`, `{"q":"x","tags":[]}`},
		{"a list as a string", `{"q":"x","tags":"[\"a\"]"}`, `{"q":"x","tags":["a"]}`},
		{"an object as a string", `{"q":"x","in":"{\"must\":12345678901234567890}"}`, `{"in":{"must":12345678901234567890},"q":"x"}`},
		{"an object as a string that has a name twice", `{"q":"x","in":"{\"must\":1,\"must\":2}"}`, `{"q":"x","in":"{\"must\":1,\"must\":2}"}`},
		{"a list as a string where text is due", `{"q":"[\"a\"]"}`, `{"q":"[\"a\"]"}`},
		{"a value that is wrong", `{"q":"x","limit":"5"}`, `{"q":"x","limit":"5"}`},
		{"zero is a value", `{"q":"x","mode":0,"after":false}`, `{"q":"x","mode":0,"after":false}`},
	} {
		if got := string(schema.Meant(json.RawMessage(tt.in))); got != tt.want {
			t.Errorf("%s: %s is read as %s, want %s", tt.name, tt.in, got, tt.want)
		}
	}
	var none *Schema
	if got := string(none.Meant(json.RawMessage(`{"a":null}`))); got != `{"a":null}` {
		t.Errorf("without a schema: %s", got)
	}
}

package form_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nod/chat"
	"nod/chat/form"
)

// roomy has room for all tests; tight has the limits of the narrowest platform.
var (
	roomy = form.Bounds{Fields: 90, ID: 255, Label: 150, Text: 3000, Options: 100, Option: 75}
	tight = form.Bounds{Fields: 5, ID: 100, Label: 45, Text: 4000, Options: 25, Option: 100}
)

const deploy = `{"type":"object","properties":{
	"service":{"type":"string","enum":["api","web"],"description":"Which\n one"},
	"note":{"type":"string","maxLength":500},
	"reason":{"type":"string"},
	"force":{"type":"boolean"},
	"copies":{"type":"integer","minimum":1}
},"required":["service","reason"],"additionalProperties":false}`

func TestFieldsBySchema(t *testing.T) {
	got := form.Of(deploy, `{"reason":"it hangs","service":"web","copies":2}`, tight)
	want := []form.Field{
		{
			ID: "mservice", Label: "service", About: "Which one", Kind: form.Menu, Required: true, Value: `"web"`,
			Options: []form.Option{{Label: "api", Value: `"api"`}, {Label: "web", Value: `"web"`}},
		},
		{ID: "snote", Label: "note", Kind: form.Area},
		{ID: "Sreason", Label: "reason", Value: "it hangs"},
		{ID: "bforce", Label: "force", Kind: form.Box},
		{ID: "ncopies", Label: "copies", Value: "2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Arguments that a form would show only in part are shown as JSON.
func TestWhatIsJSON(t *testing.T) {
	one := func(property string) string { return `{"type":"object","properties":{"x":` + property + `}}` }
	text := one(`{"type":"string"}`)
	for name, tt := range map[string]struct{ parameters, arguments string }{
		"no schema":                 {"", `{"x":1}`},
		"no parameters":             {`{"type":"object"}`, `{"x":1}`},
		"nested":                    {one(`{"type":"object","properties":{"y":{"type":"string"}}}`), `{"x":{"y":"z"}}`},
		"a list":                    {one(`{"type":"array","items":{"type":"string"}}`), `{"x":["y"]}`},
		"a choice of types":         {one(`{"type":["string","null"]}`), `{"x":"y"}`},
		"a choice of schemas":       {one(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), `{"x":1}`},
		"a reference":               {one(`{"$ref":"#/$defs/y"}`), `{"x":1}`},
		"another argument":          {text, `{"x":"y","z":1}`},
		"null":                      {text, `{"x":null}`},
		"a direction mark":          {text, `{"x":"a\u202eb"}`},
		"a tab":                     {one(`{"enum":["a\u200b"]}`), `{"x":"a\u200b"}`},
		"an option that is none":    {one(`{"enum":["a"]}`), `{"x":"b"}`},
		"options that look alike":   {one(`{"enum":["1",1]}`), `{"x":1}`},
		"an object among options":   {one(`{"enum":["a",{}]}`), `{"x":"a"}`},
		"a number that is a string": {one(`{"type":"number"}`), `{"x":"1"}`},
		"a long name":               {`{"type":"object","properties":{"` + strings.Repeat("x", 46) + `":{"type":"string"}}}`, `{}`},
		"six of them":               {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"},"e":{"type":"string"},"f":{"type":"string"}}}`, `{}`},
		"a name twice":              {`{"type":"object","properties":{"x":{"type":"string"},"x":{"type":"integer"}}}`, `{}`},
		"more by a pattern":         {`{"type":"object","properties":{"x":{"type":"string"}},"patternProperties":{"^y":{"type":"string"}}}`, `{"x":"1"}`},
	} {
		got := form.Of(tt.parameters, tt.arguments, tight)
		if len(got) != 1 || got[0].ID != "j" || got[0].Kind != form.Area || !same(got[0].Value, tt.arguments) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := form.Of(text, `{"x":"`+strings.Repeat("y", 4001)+`"}`, tight); got != nil {
		t.Errorf("no room, and yet a form of %d fields", len(got))
	}
	if got := form.Of("", strings.Repeat(" ", 4000)+`{"x":[1,2]}`, tight); len(got) != 1 {
		t.Errorf("room without the spaces, and yet %d fields", len(got))
	}
}

func same(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// A form that is sent unchanged gives its original arguments.
func TestUnchangedStaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "a\nb", " x ", "-", "true", "[]"}))
		props, arguments, required := map[string]any{}, map[string]any{}, []string{}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z_]{1,8}`), 1, 6, rapid.ID[string]).Draw(t, "names") {
			s := map[string]any{}
			var value any
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				s["type"], value = "string", text.Draw(t, "text")
			case 1:
				s["type"], value = "boolean", rapid.Bool().Draw(t, "box")
			case 2:
				s["type"], value = "number", rapid.Float64().Draw(t, "number")
			case 3:
				list := rapid.SliceOfNDistinct(text, 1, 4, rapid.ID[string]).Draw(t, "options")
				s["enum"], value = list, rapid.SampledFrom(list).Draw(t, "option")
			case 4:
				s["type"], value = "array", []any{1.0}
			}
			props[name] = s
			if rapid.Bool().Draw(t, "there") {
				arguments[name] = value
				if rapid.Bool().Draw(t, "required") {
					required = append(required, name)
				}
			}
		}
		parameters, _ := json.Marshal(map[string]any{"type": "object", "properties": props, "required": required})
		given, _ := json.Marshal(arguments)
		var filled []form.Filled
		for _, f := range form.Of(string(parameters), string(given), roomy) {
			filled = append(filled, form.Filled{ID: f.ID, Value: f.Value})
		}
		got, wrong := form.Read(filled)
		if wrong != nil || !same(got, string(given)) {
			t.Fatalf("%s became %s (%v)", given, got, wrong)
		}
	})
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		filled []form.Filled
		want   string
		wrong  string // id
	}{
		{[]form.Filled{{"mx", `"b"`}, {"Sy", "a\r\nb"}, {"n z", " 1e3 "}, {"bf", form.Ticked}}, `{"x":"b","y":"a\nb"," z":1e3,"f":true}`, ""},
		{[]form.Filled{{"mx", "-"}, {"sy", ""}, {"nz", ""}, {"bf", ""}, {"Bg", ""}}, `{"g":false}`, ""},
		{[]form.Filled{{"nz", "two"}}, "", "nz"},
		{[]form.Filled{{"nz", `"2"`}}, "", "nz"},
		{[]form.Filled{{"nz", "01"}}, "", "nz"},
		{[]form.Filled{{"mx", "b"}}, "", "mx"},
		{[]form.Filled{{"j", " {\"x\":\n1} "}}, "{\"x\":\n1}", ""},
		{[]form.Filled{{"j", "[1]"}}, "", "j"},
		{[]form.Filled{{"j", "{1}"}}, "", "j"},
		{[]form.Filled{{"?x", "1"}}, "", "?x"},
		{[]form.Filled{{"", "1"}}, "", ""},
	} {
		got, wrong := form.Read(tt.filled)
		if got != tt.want || (wrong != nil) != (tt.want == "") || wrong != nil && wrong.ID != tt.wrong {
			t.Errorf("%v: %s, %v", tt.filled, got, wrong)
		}
	}
}

func TestBlame(t *testing.T) {
	ids := []string{"mservice", "ncopies", "n"}
	for why, want := range map[string]string{
		"the arguments don't fit: /copies: must be 1 or more": "ncopies",
		"the time to decide is over":                          "mservice",
	} {
		if got := form.Blame(ids, why); got != want {
			t.Errorf("%s: %q", why, got)
		}
	}
}

func TestTitle(t *testing.T) {
	long := strings.Repeat("x", 20)
	for want, p := range map[string]chat.Approval{
		"Approval 3: deploy": {Number: 3, Tool: "deploy"},
		"Edit 3":             {Number: 3, Tool: long},
	} {
		if got := form.Title(&p, 24); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

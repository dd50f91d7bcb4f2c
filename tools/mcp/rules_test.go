package mcp

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"nod/setting"
	"nod/tools"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

// The strictest pattern wins; what a tool says of itself only makes it stricter.
func TestJudge(t *testing.T) {
	cfg := func(risk Risks, readOnly ...string) Server { return Server{Risk: risk, ReadOnly: readOnly} }
	auto := Risks{"*": tools.Auto}
	for name, c := range map[string]struct {
		cfg      Server
		tool     string
		hints    *Hints
		risk     tools.Risk
		readOnly bool
	}{
		"nothing said":            {cfg(nil), "get", nil, tools.Ask, false},
		"no pattern matches":      {cfg(Risks{"get_*": tools.Auto}), "list", nil, tools.Ask, false},
		"auto":                    {cfg(Risks{"get_*": tools.Auto}), "get_x", nil, tools.Auto, false},
		"the strictest of two":    {cfg(Risks{"get_*": tools.Auto, "*": tools.Ask}), "get_x", nil, tools.Ask, false},
		"the strictest of three":  {cfg(Risks{"get_*": tools.Never, "*": tools.Ask, "g*": tools.Auto}), "get_x", nil, tools.Never, false},
		"a slash does not escape": {cfg(Risks{"*": tools.Never}), "repo/delete", nil, tools.Never, false},
		"read only":               {cfg(auto, "get_*"), "get_x", nil, tools.Auto, true},
		"read only of another":    {cfg(auto, "get_*"), "forget_x", nil, tools.Auto, false},

		"it says it destroys":              {cfg(auto), "x", &Hints{Destructive: yes()}, tools.Ask, false},
		"and that undoes read_only":        {cfg(auto, "*"), "x", &Hints{Destructive: yes()}, tools.Ask, false},
		"it does not deny it":              {cfg(auto), "x", &Hints{}, tools.Auto, false},
		"the file denies it":               {cfg(auto, "*"), "x", &Hints{}, tools.Auto, true},
		"it denies it":                     {cfg(auto), "x", &Hints{Destructive: no()}, tools.Auto, false},
		"it says it is read only":          {cfg(auto), "x", &Hints{ReadOnly: true}, tools.Auto, false},
		"which does not lower":             {cfg(nil), "x", &Hints{ReadOnly: true, Destructive: no()}, tools.Ask, false},
		"nor lower never":                  {cfg(Risks{"*": tools.Never}), "x", &Hints{ReadOnly: true}, tools.Never, false},
		"destroying does not lower never":  {cfg(Risks{"*": tools.Never}), "x", &Hints{Destructive: yes()}, tools.Never, false},
		"destroying is nothing if it asks": {cfg(Risks{"*": tools.Ask}), "x", &Hints{Destructive: yes()}, tools.Ask, false},
	} {
		t.Run(name, func(t *testing.T) {
			risk, readOnly, raised := c.cfg.judge(Definition{Name: c.tool, Hints: c.hints})
			if risk != c.risk || readOnly != c.readOnly {
				t.Errorf("risk %s, read only %t; want %s, %t", risk, readOnly, c.risk, c.readOnly)
			}
			without, _, _ := c.cfg.judge(Definition{Name: c.tool})
			if (raised != "") != (without != risk) {
				t.Errorf("raised because %q, from %s to %s", raised, without, risk)
			}
		})
	}
}

// Hints of a tool never lower the configuration's risk, and make nothing read only.
func TestHintsNeverLower(t *testing.T) {
	flag := rapid.SampledFrom([]*bool{nil, yes(), no()})
	risks := rapid.SampledFrom([]tools.Risk{tools.Auto, tools.Ask, tools.Never})
	rapid.Check(t, func(t *rapid.T) {
		cfg := Server{Risk: Risks{"*": risks.Draw(t, "risk"), "x": risks.Draw(t, "other")}}
		if rapid.Bool().Draw(t, "read only") {
			cfg.ReadOnly = []string{"*"}
		}
		h := &Hints{rapid.Bool().Draw(t, "r"), flag.Draw(t, "d"), rapid.Bool().Draw(t, "i"), flag.Draw(t, "o")}
		risk, readOnly, _ := cfg.judge(Definition{Name: "x", Hints: h})
		least, atMost, _ := cfg.judge(Definition{Name: "x"})
		if strictness[risk] < strictness[least] || readOnly && !atMost {
			t.Fatalf("%+v lowers %s to %s, read only %t to %t", h, least, risk, atMost, readOnly)
		}
	})
}

func names(taken []string, pairs ...string) []string {
	var list []offer
	for _, p := range pairs {
		from, tool, _ := strings.Cut(p, " ")
		list = append(list, offer{s: &server{Server: Server{Name: from}}, d: Definition{Name: tool}})
	}
	named(list, taken)
	var out []string
	for _, o := range list {
		out = append(out, o.as)
	}
	return out
}

// Names fit every provider, and where two would be the same neither has it.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	for name, c := range map[string]struct {
		taken []string
		pairs []string
		want  string
	}{
		"plain":      {nil, []string{"github get_me"}, `^github_get_me$`},
		"odd":        {nil, []string{"git get.me/now ü"}, `^git_get_me_now__$`},
		"long":       {nil, []string{"git " + long}, `^git_x{51}_[0-9a-f]{8}$`},
		"two":        {nil, []string{"a b_c", "a_b c"}, `^a_b_c_[0-9a-f]{8} a_b_c_[0-9a-f]{8}$`},
		"two odd":    {nil, []string{"a b.c", "a b/c", "a other"}, `^a_b_c_[0-9a-f]{8} a_b_c_[0-9a-f]{8} a_other$`},
		"of another": {[]string{"wikipedia_search"}, []string{"wikipedia search"}, `^wikipedia_search_[0-9a-f]{8}$`},
	} {
		t.Run(name, func(t *testing.T) {
			got := names(c.taken, c.pairs...)
			if !regexp.MustCompile(c.want).MatchString(strings.Join(got, " ")) {
				t.Errorf("got %q", got)
			}
			for i, name := range got {
				if len(name) > longest || i > 0 && got[i-1] == name {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	if a, b := names(nil, "a b_c", "a_b c"), names(nil, "a_b c", "a b_c"); a[0] != b[0] || a[1] != b[1] {
		t.Errorf("the names depend on the order: %q, %q", a, b)
	}
}

// A definition that no model could use is left out, and one that is merely bare
// is filled up.
func TestForModel(t *testing.T) {
	tooLong := `{"description":"` + strings.Repeat("x", mostParameters) + `"}`
	for parameters, want := range map[string]string{
		`null`:                                   `{"properties":{},"type":"object"}`,
		`{}`:                                     `{"properties":{},"type":"object"}`,
		`{"type":"object"}`:                      `{"properties":{},"type":"object"}`,
		`{"type":"string"}`:                      "",
		`[]`:                                     "",
		`{"$ref":"https://evil.example/schema"}`: "",

		// A schema composed at the top is written as one object.
		`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},{"properties":{"a":{"type":"integer"}},"required":["a"]},{"type":"null"}]}`: `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"b":{}},"required":["a"],"type":"object"}`,
		`{"type":"object","properties":{"a":{}},"oneOf":[{"required":["a"]},{"required":["b"]}],"allOf":[{"properties":{"b":{}},"required":["b"]}]}`:                              `{"properties":{"a":{},"b":{}},"required":["b"],"type":"object"}`,
		`{"$ref":"#/$defs/x~1y","$defs":{"x/y":{"type":"object","properties":{"a":{"$ref":"#/$defs/s"}},"required":["a"]},"s":{"type":"string"}}}`:                                `{"$defs":{"s":{"type":"string"},"x/y":{"properties":{"a":{"$ref":"#/$defs/s"}},"required":["a"],"type":"object"}},"properties":{"a":{"$ref":"#/$defs/s"}},"required":["a"],"type":"object"}`,
		`{"type":"object","properties":{"a":{}},"not":{"required":["a"]},"enum":[{}]}`:                                                                                            `{"properties":{"a":{}},"type":"object"}`,
		`{"allOf":[{"$ref":"#"}]}`:         "",
		`{"anyOf":[true]}`:                 "",
		`{"$ref":"#/$defs/none"}`:          "",
		`{"allOf":[{"$ref":"#/allOf/0"}]}`: "",

		tooLong: "",
	} {
		got, err := Definition{Parameters: []byte(parameters)}.forModel()
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%.40s: %s, %v", parameters, got, err)
		}
	}
	if _, err := (Definition{Parameters: []byte("{}"), Description: strings.Repeat("x", mostDescription+1)}).forModel(); err == nil {
		t.Error("a description without end is taken")
	}
}

// Mistakes of the options are found at once.
func TestMistakes(t *testing.T) {
	s := Server{Name: "x", URL: setting.NewSecret("ftp://user:secret@host/")}
	_, err := Connect(t.Context(), Options{Servers: []Server{s}})
	if err == nil || !strings.Contains(err.Error(), "must begin with http") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// The same file in another folder has the same servers.
func TestPlacedServerIsTheSame(t *testing.T) {
	t.Parallel()
	in := func(dir string) string {
		s := Server{Command: []string{"./server", "-v"}}
		s.Place(func(path string) string { return dir + "/" + path })
		if s.Command[0] != dir+"/./server" {
			t.Errorf("the program is %q", s.Command[0])
		}
		return offer{s: &server{Server: s}}.definition()
	}
	if a, b := in("/a"), in("/b"); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

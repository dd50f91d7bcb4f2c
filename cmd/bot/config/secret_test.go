package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"nod/setting"
)

const marker = "marker"

// printed is everything that a careless program could make of a value.
func printed(v any) string {
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		_, _ = fmt.Fprintf(&out, verb+"\n", v)
	}
	text, err := json.Marshal(v)
	_, _ = fmt.Fprintln(&out, string(text), err)
	dump, err := yaml.Dump(v)
	_, _ = fmt.Fprintln(&out, string(dump), err)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("loaded", "config", v)
	slog.New(slog.NewTextHandler(&out, nil)).Info("loaded", "config", v)
	return out.String()
}

// leaks says whether a text has the marker, plain or in hexadecimal.
func leaks(text string) bool {
	return strings.Contains(text, marker) || strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", marker))
}

func TestSecretPrintsNothing(t *testing.T) {
	s := setting.NewSecret(marker)
	if s.Reveal() != marker || !s.IsSet() || !s.Equal(setting.NewSecret(marker)) || s.Equal(setting.NewSecret("other")) {
		t.Fatal("a secret does not keep its value")
	}
	if zero := setting.NewSecret(""); zero.IsSet() || zero.Reveal() != "" || zero.String() != "" {
		t.Error("an empty secret is set")
	}
	type hidden struct {
		secret setting.Secret // fmt can't call methods here
		list   []setting.Secret
		byName map[string]setting.Secret
	}
	for name, v := range map[string]any{
		"value": s, "pointer": &s, "list": []setting.Secret{s}, "map": map[string]setting.Secret{"a": s},
		"field": struct{ S setting.Secret }{s}, "unexported": hidden{s, []setting.Secret{s}, map[string]setting.Secret{"a": s}},
	} {
		if got := printed(v); leaks(got) {
			t.Errorf("%s: the secret is printed:\n%s", name, got)
		}
	}
	if got := fmt.Sprintf("%v %s", s, s); got != "[redacted] [redacted]" {
		t.Errorf("got %s", got)
	}
}

func TestConfigPrintsNoSecret(t *testing.T) {
	text := strings.Replace(fullExample(t), "sqlite:nod.db", "redis://ada:marker-7@db:6379/1", 1)
	c := mustLoad(t, text)
	if got := c.Store.URL.Reveal(); !strings.Contains(got, "marker-7") {
		t.Fatalf("the store's URL is %q", got)
	}
	if got := c.Store.String(); got != "redis://db:6379/1" {
		t.Errorf("the store prints as %s", got)
	}
	type hidden struct{ config Config }
	for name, v := range map[string]any{"pointer": c, "value": *c, "unexported": hidden{*c}, "slack": c.Slack, "store": c.Store} {
		if got := printed(v); leaks(got) {
			t.Errorf("%s: a secret is printed:\n%s", name, got)
		}
	}
}

// TestMistakesShowNoSecret puts one mistake after the other into a file that
// has a secret wherever one can be, and reads what is said about each.
func TestMistakesShowNoSecret(t *testing.T) {
	text := strings.Replace(fullExample(t), "sqlite:nod.db", "redis://ada:marker-7@db:6379/1", 1)
	literal := text
	for name, value := range exampleEnv {
		literal = strings.ReplaceAll(literal, "${"+name+"}", value)
	}
	wrong := []string{"wrong", "12345", "-1", "true", "~", `""`, "{a: b}", "[x, [y], {z: 1}]", "!x y", "${UNSET}", "${", "marker: marker", `"marker`}
	tried, refused := 0, 0
	for _, base := range []string{text, literal} {
		var doc yaml.Node
		if err := yaml.Load([]byte(base), &doc); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(base, "\n")
		for i, n := range valuesBelow(doc.Content[0]) {
			for j := range 2 { // in turn, as each load takes its time
				w := wrong[(2*i+j)%len(wrong)]
				edited := append([]string(nil), lines...)
				line := edited[n.Line-1]
				edited[n.Line-1] = line[:n.Column-1] + w + strings.TrimPrefix(line[n.Column-1:], n.Value)
				c, err := load(strings.Join(edited, "\n"), exampleEnv)
				tried++
				if err == nil {
					continue
				}
				refused++
				if c != nil || leaks(err.Error()) {
					t.Errorf("%s in line %d shows a secret: %v", w, n.Line, err)
				}
			}
		}
	}
	if refused < tried/2 {
		t.Errorf("only %d of %d edits are mistakes", refused, tried)
	}
}

// valuesBelow lists the scalars that are values.
func valuesBelow(n *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		if c.Kind == yaml.ScalarNode && c.Column > 0 && c.Value != "" {
			out = append(out, c)
		}
		out = append(out, valuesBelow(c)...)
	}
	return out
}

// Secrets finds every secret of a file, also one that is in a list or a map.
func TestSecrets(t *testing.T) {
	c, err := load(`
store: redis://u:store-pass@host:1/0
llm: {api_key: llm-secret}
slack: {app_token: xapp-secret, bot_token: xoxb-secret}
discord: {token: discord-secret}
tools:
  search: {provider: brave, api_key: search-secret}
  mcp:
    - {name: a, url: "https://x.example/?key=url-secret", headers: {Authorization: header-secret}}
    - {name: b, command: [env, TOKEN=argument-secret, STAGE=production, "DB=postgres://u:db-pass@h/d", prog]}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(c.Secrets(), "\n")
	for _, want := range []string{"store-pass", "llm-secret", "xapp-secret", "xoxb-secret", "discord-secret", "search-secret", "url-secret", "header-secret", "argument-secret", "db-pass"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not among the secrets", want)
		}
	}
	if strings.Contains(all, "production") {
		t.Error("a plain word of a server's command is a secret: it would vanish from every answer")
	}
}

// The address of a store is a secret where it holds a password, and else what check and
// the log say of it.
func TestStoreIsSecretWithAPassword(t *testing.T) {
	for text, secret := range map[string]bool{
		"sqlite:nod.db":                  false,
		"redis://localhost:6379/0":       false,
		"redis://:marker@localhost:6379": true,
	} {
		s, err := ParseStore(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := len((&Config{Store: s}).Secrets()) > 0 && strings.Contains(strings.Join((&Config{Store: s}).Secrets(), "\n"), text); got != secret {
			t.Errorf("%s: secret is %v, want %v", text, got, secret)
		}
	}
}

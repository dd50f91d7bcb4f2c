package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"nod/cmd/bot/config"
	"nod/internal/fakellm"
)

// The configuration files in README and docs work with the commands beside them. A file
// without a platform is one for `bot chat`, and `check` takes it.
func TestReadmeSteps(t *testing.T) {
	t.Parallel()
	model := fakellm.Start(t, func(fakellm.Request) fakellm.Reply { return fakellm.Reply{Text: "hello"} })
	secrets := map[string]string{
		"OPENAI_API_KEY": "sk-1", "SLACK_APP_TOKEN": "xapp-1-A-1-x", "SLACK_BOT_TOKEN": "xoxb-1-x", "DISCORD_TOKEN": "MTIz.x.y",
	}
	llm := "llm:\n  base_url: " + model.URL + "\n  api_key: ${OPENAI_API_KEY}\n  model: m\n"
	run := func(t *testing.T, text string, args ...string) (status int, said string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "nod.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out := &buffer{}
		env := Env{In: strings.NewReader("hello\n"), Out: out, Err: out, Getenv: func(name string) (string, bool) {
			v, ok := secrets[name]
			return v, ok
		}}
		return Main(t.Context(), append(args, "--config", file), env), out.String()
	}
	for _, page := range []string{"README.md", "docs/setup-slack.md", "docs/setup-discord.md", "docs/models.md"} {
		for i, text := range yamls(t, filepath.Join("../..", page)) {
			t.Run(page+string(rune('1'+i)), func(t *testing.T) {
				if strings.Contains(text, "llm:") {
					takes(t, text)
				}
				// A model that exists replaces the file's.
				own := regexp.MustCompile(`(?m)^llm:\n((  .*|)\n)*`).ReplaceAllString(text, "")
				switch {
				case strings.Contains(text, "\nslack:") || strings.HasPrefix(text, "slack:"):
					if status, said := run(t, llm+own, "manifest", "slack"); status != 0 || !strings.Contains(said, "scopes") {
						t.Errorf("manifest: status %d\n%s", status, said)
					}
				case strings.Contains(text, "discord:"):
					if status, said := run(t, llm+own, "manifest", "discord"); status != 0 || !strings.Contains(said, "https://") {
						t.Errorf("manifest: status %d\n%s", status, said)
					}
				default:
					if status, said := run(t, llm+own, "check"); status != 0 {
						t.Errorf("check: status %d\n%s", status, said)
					}
					if status, said := run(t, llm+own, "chat"); status != 0 || !strings.Contains(said, "Answer: hello") {
						t.Errorf("chat: status %d\n%s", status, said)
					}
				}
			})
		}
	}
}

// Each tool that the table of README names is one that the file can switch on.
func TestReadmeTools(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Tools\n")
	table, _, _ = strings.Cut(table, "\n## ")
	known := map[string]bool{}
	for f := range reflect.TypeFor[config.Tools]().Fields() {
		known[f.Tag.Get("yaml")] = true
	}
	rows := regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(table, -1)
	for _, row := range rows {
		for _, name := range strings.Split(row[1], ", ") {
			if !known[strings.Trim(name, "`")] {
				t.Errorf("README has a tool %s, which is no key of tools", name)
			}
		}
	}
	if len(rows) < 5 {
		t.Errorf("%d rows", len(rows))
	}
}

// takes reads a file as it stands, whatever secret it names.
func takes(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nod.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(file, config.LoadOptions{Getenv: func(string) (string, bool) { return "secret", true }}); err != nil {
		t.Fatal(err)
	}
}

// yamls are the files that a page shows.
func yamls(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n")[1:])
	}
	if len(out) == 0 {
		t.Errorf("%s shows no file", page)
	}
	return out
}

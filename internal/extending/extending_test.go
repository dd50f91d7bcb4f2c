// Package extending follows docs/extending.md to the letter: it puts the blocks of the
// page into a copy of the module, builds the program, and uses what was added.
package extending

import (
	"encoding/json"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nod/internal/fakellm"
)

// block is one of the page: a file, an insertion into one, or commands.
type block struct {
	section string
	path    string // "": commands
	beside  string // "": the whole file
	above   bool
	text    string
}

var (
	headings = regexp.MustCompile(`(?m)^## (.+)$`)
	fences   = regexp.MustCompile("(?ms)^([^\n]*)\n\n```[a-z]+\n(.*?)^```$")
	paths    = regexp.MustCompile("`((?:[a-z]+/)+[a-z_.]+)`")
	places   = regexp.MustCompile("^(?:New file `([^`]+)`|In `([^`]+)`, (below|above) `([^`]+)`|(Run)):$")
)

// readBlocks reads the page. A block whose place is not said fails the test.
func readBlocks(t *testing.T, page string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	starts := headings.FindAllStringSubmatchIndex(string(text), -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		section, body := string(text[at[2]:at[3]]), string(text[at[1]:end])
		found := fences.FindAllStringSubmatch(body, -1)
		if n := strings.Count(body, "\n```"); n != 2*len(found) {
			t.Errorf("%s: %d of %d blocks have a line above them that says where they go", section, len(found), n/2)
		}
		for _, m := range found {
			place := places.FindStringSubmatch(m[1])
			if place == nil {
				t.Errorf("%s: %q does not say where the block goes", section, m[1])
				continue
			}
			all = append(all, block{section, place[1] + place[2], place[4], place[3] == "above", m[2]})
		}
	}
	return all
}

// module is the real module, and a copy in which the page is followed. The program is
// built where the module is, with the changed files laid over it: the build cache knows
// the rest.
type module struct {
	t          *testing.T
	root, copy string
	laid       map[string]string          // changed files, by what they stand for
	touched    map[string]map[string]bool // files, by the section that changes them
	overlay    string                     // laid, for the go command
}

func newModule(t *testing.T) *module {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	m := &module{t: t, root: root, copy: t.TempDir(), laid: map[string]string{}, touched: map[string]map[string]bool{}}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "bin" || rel == "dist" || rel != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(m.copy, rel), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		return os.Symlink(path, filepath.Join(m.copy, rel))
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put does what the page says of one block.
func (m *module) put(b block) {
	m.t.Helper()
	file := filepath.Join(m.copy, b.path)
	old, err := os.ReadFile(file)
	if isNew := b.beside == ""; isNew == (err == nil) {
		m.t.Fatalf("%s: the page says new: %v, and it is there: %v", b.path, isNew, err == nil)
	}
	lines := strings.SplitAfter(string(old), "\n")
	at := 0
	if b.beside != "" {
		at = slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, b.beside) })
		if at < 0 {
			m.t.Fatalf("%s has no line with %q", b.path, b.beside)
		}
		if !b.above {
			at++
		}
	}
	if got, err := format.Source([]byte(b.text)); b.beside == "" && filepath.Ext(file) == ".go" && (err != nil || string(got) != b.text) {
		m.t.Errorf("%s: the block is not as gofmt has it: %v", b.path, err)
	}
	_ = os.Remove(file) // a link to the module's own
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(slices.Insert(lines, at, b.text), "")), 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.laid[filepath.Join(m.root, b.path)] = file
	if b.path == "try.yaml" {
		return
	}
	if m.touched[b.section] == nil {
		m.touched[b.section] = map[string]bool{}
	}
	if filepath.Dir(filepath.Dir(b.path)) == "tools" {
		b.path = filepath.Dir(b.path) // its folder counts as one
	}
	m.touched[b.section][b.path] = true
}

// run runs a program in a folder, and gives what it prints.
func (m *module) run(dir, in, name string, args ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+m.t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// follow runs a command of the page. Packages are built in the module and tested in the
// copy.
func (m *module) follow(line string) (said string) {
	m.t.Helper()
	words := strings.Fields(line)
	switch {
	case strings.HasPrefix(line, "go test "):
		for _, pkg := range words[2:] {
			binary := filepath.Join(m.copy, pkg, "it.test")
			m.run(m.root, "", "go", "test", "-vet=off", "-c", "-overlay", m.overlay, "-o", binary, pkg)
			m.run(filepath.Dir(binary), "", binary, "-test.short")
		}
		return ""
	case strings.HasPrefix(line, "go build -o bin/bot "):
		return m.run(m.root, "", "go", "build", "-overlay", m.overlay, "-o", filepath.Join(m.copy, "bin/bot"), words[4])
	}
	return m.run(m.copy, "", "sh", "-c", line)
}

// A tool, a word and a key are added as the page says, in no more files than it says. The
// program has them then: check shows the tool, a person and a model call it, the word is
// answered, and the key reaches the model.
func TestPage(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	var commands []string
	for _, b := range readBlocks(t, filepath.Join(m.root, "docs/extending.md")) {
		if b.path == "" {
			commands = append(commands, strings.Split(strings.TrimSpace(b.text), "\n")...)
			continue
		}
		m.put(b)
	}
	// The line in CHANGELOG.md is one more.
	for section, most := range map[string]int{"A tool": 3, "A word that people say": 2, "A key of the configuration": 3} {
		if n := len(m.touched[section]); n < 2 || n > most {
			t.Errorf("%s touches %d files, want at most %d: %v", section, n, most, m.touched[section])
		}
	}
	laid, err := json.Marshal(map[string]any{"Replace": m.laid})
	if err != nil {
		t.Fatal(err)
	}
	m.overlay = filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(m.overlay, laid, 0o600); err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, line := range commands {
		said += m.follow(line)
	}
	id := `order-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
	for _, want := range []string{`ok    tool uuid: auto`, id + `\s+` + id} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("the commands of the page do not show %q:\n%s", want, said)
		}
	}
	m.converse(id)
}

// The page names no file or folder that the module does not have, but for its own.
func TestPaths(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/extending.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range paths.FindAllStringSubmatch(string(text), -1) {
		isNew := strings.Contains(string(text), "New file `"+m[1])
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil && !isNew {
			t.Errorf("the page names %s, which is not there", m[1])
		}
	}
}

// converse has a model call the tool, and a person say the word.
func (m *module) converse(id string) {
	m.t.Helper()
	model := fakellm.Start(m.t, func(req fakellm.Request) fakellm.Reply {
		if req.Last().Role == "tool" {
			return fakellm.Reply{Text: "The tool says: " + req.Last().Text()}
		}
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "uuid", Args: `{}`}}}
	})
	try, err := os.ReadFile(filepath.Join(m.copy, "try.yaml"))
	if err != nil {
		m.t.Fatal(err)
	}
	own := filepath.Join(m.t.TempDir(), "own.yaml")
	text := string(try) + fmt.Sprintf("llm: {base_url: %q, model: m}\nagent: {language: French}\n", model.URL)
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	said := m.run(m.copy, "one identifier, please\nping\nhelp\n", filepath.Join(m.copy, "bin/bot"), "chat", "--config", own)
	for _, want := range []string{"The tool says: " + id, "I listen\\.", "see whether I listen", "`uuid`: Make identifiers"} {
		if !regexp.MustCompile(want).MatchString(said) {
			m.t.Errorf("the conversation does not show %q:\n%s", want, said)
		}
	}
	if asked := model.Requests(); len(asked) == 0 || !strings.Contains(asked[0].Whole(), "Answer in French.") {
		m.t.Errorf("the key does not reach the model: %d requests", len(asked))
	}
}

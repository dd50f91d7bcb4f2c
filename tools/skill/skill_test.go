package skill

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/internal/tooltest"
)

const incident = "---\nname: incident\ndescription: >\n  How we handle\n  an outage.\nallowed-tools: all\n---\n\nTake a breath.\n"

// shelve writes files into a folder: NAME → content; one that begins with -> is a link.
func shelve(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if to, link := strings.CutPrefix(text, "->"); link && err == nil {
			err = os.Symlink(to, at)
		} else if err == nil {
			err = os.WriteFile(at, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Each file with a mistake is named with it; the others are read.
func TestRead(t *testing.T) {
	other := func(name string) string { return strings.Replace(incident, "incident", name, 1) }
	dir := shelve(t, map[string]string{
		"a/SKILL.md": incident, "a/run.sh": "exit 1", "b/SKILL.md": incident, "c": "->a", "d/SKILL.md": "->../a/SKILL.md",
		"e/SKILL.md": "Take a breath.", "f/SKILL.md": other("In Cident"), "g/README.md": "", "README.md": "x", ".git/x": "",
		"h/SKILL.md": "---\nname: h\n---\nx", "i/SKILL.md": "---\nname: i\ndescription: i\n---\n", "j/SKILL.md": "---\nname: [\n---\nx",
		"k/SKILL.md": other("k") + "\xff", "l/SKILL.md": strings.ReplaceAll(other("l"), "\n", "\r\n"), "m/SKILL.md/x": "",
		"n/SKILL.md": other("n") + strings.Repeat("x", mostBytes),
	})
	list, mistakes := Read(dir)
	if len(list) != 2 || list[0].Name != "incident" || list[0].Description != "How we handle an outage." || list[0].Text != "Take a breath." || list[1].Text != list[0].Text {
		t.Errorf("read %q", list)
	}
	want := map[string]string{
		"b/SKILL.md": "has the name of a/SKILL.md", "c": "is a symbolic link", "d/SKILL.md": "is a symbolic link", "e/SKILL.md": "has no front matter",
		"f/SKILL.md": "its name must be", "g/SKILL.md": "can't be read: no such file or directory", "h/SKILL.md": "its description must be",
		"i/SKILL.md": "has no text", "j/SKILL.md": "has no front matter", "k/SKILL.md": "is no UTF-8 text", "m/SKILL.md": "is no file", "n/SKILL.md": "is larger than 1 MiB",
	}
	for _, m := range mistakes {
		name, why, _ := strings.Cut(m.Error(), ": ")
		if want[name] == "" || !strings.HasPrefix(why, want[name]) {
			t.Errorf("%v, want %q", m, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}
	if _, mistakes := Read(filepath.Join(dir, "nowhere")); len(mistakes) != 1 {
		t.Errorf("a folder that is not there: %v", mistakes)
	}
}

// One byte that is not as it was accepted: the skill is off, whatever it was at the start,
// and the log says so once.
func TestChangedIsOff(t *testing.T) {
	dir := shelve(t, map[string]string{"a/SKILL.md": incident, "b/SKILL.md": strings.Replace(incident, "incident", "new", 1)})
	list, _ := Read(dir)
	lock := Accept(list[:1])
	var log bytes.Buffer
	s := NewShelf(dir, list, lock, slog.New(slog.NewTextHandler(&log, nil)))
	reads := func(name, want string, failed bool) {
		t.Helper()
		got := tooltest.Run(t, s.Tool(), map[string]string{"name": name})
		if got.Failed != failed || !strings.Contains(got.Text, want) || failed && strings.Contains(got.Text, "breath") {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "a", "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reads("incident", "Take a breath.", false)
	reads("new", "nobody has accepted it", true)
	reads("x", "there is no such skill", true)
	write(strings.Replace(incident, "breath", "breach", 1))
	reads("incident", "not the one that was accepted", true)
	reads("incident", "not the one that was accepted", true)
	if n := strings.Count(log.String(), "skill=incident"); n != 1 {
		t.Errorf("the log names it %d times:\n%s", n, log.String())
	}
	late := NewShelf(dir, list, lock, slog.New(slog.DiscardHandler))
	write(incident)
	if why := late.Off("incident"); !strings.Contains(why, "next start") {
		t.Errorf("after a start with another file: %q", why)
	}
	reads("incident", "Take a breath.", false)
	if err := os.Remove(filepath.Join(dir, "a", "SKILL.md")); err != nil {
		t.Fatal(err)
	}
	reads("incident", "can't be read", true)
}

// A long text is given whole: half of an instruction is worse than none.
func TestLong(t *testing.T) {
	dir := shelve(t, map[string]string{"a/SKILL.md": incident + strings.Repeat("Wait. ", 5000) + "End."})
	list, _ := Read(dir)
	got := tooltest.Run(t, NewShelf(dir, list, Accept(list), slog.New(slog.DiscardHandler)).Tool(), map[string]string{"name": "incident"})
	if !strings.HasSuffix(got.Text, "End.") || len(got.Files) > 0 || strings.Contains(got.Text, "left out") {
		t.Errorf("a text of %d bytes and %d files", len(got.Text), len(got.Files))
	}
}

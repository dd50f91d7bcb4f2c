package chat

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"plot.png":              "plot.png",
		"Übersicht 2026.csv":    "Übersicht 2026.csv",
		"../../etc/passwd":      "passwd",
		`C:\temp\a.csv`:         "a.csv",
		"/":                     "file",
		"":                      "file",
		"..":                    "file",
		".bashrc":               "bashrc",
		".png":                  "png",
		"a\nb\x1b[2J.png":       "a b[2J.png",
		"gpj.\u202egnp":         "gpj.gnp",
		"<!channel>.png":        "_!channel_.png",
		"@everyone.png":         "_everyone.png",
		"a\xff.png":             "a.png",
		"a.tar.gz":              "a.tar.gz",
		"v1.2 of the plan":      "v1.2 of the plan",
		"x ..":                  "x",
		" .. /.. /  y.txt  ":    "y.txt",
		"zero\u200bwidth.txt":   "zerowidth.txt",
		"tab\u2028separated.md": "tab separated.md",
	} {
		if got := FileName(name); got != want {
			t.Errorf("FileName(%q) = %q, want %q", name, got, want)
		}
	}
	long := FileName(strings.Repeat("ü", 300) + ".png")
	if len(long) > mostFileName || !strings.HasSuffix(long, "ü.png") {
		t.Errorf("a long name becomes %d bytes: %s", len(long), long)
	}
}

func TestContent(t *testing.T) {
	away := errors.New("away")
	for blob, tt := range map[string]struct{ fail, want error }{
		"": {}, "gone": {ErrNoFile, nil}, "away": {away, away}, "kept": {},
	} {
		got, err := File{Blob: blob}.Content(func(name string) ([]byte, error) {
			if tt.fail != nil {
				return nil, fmt.Errorf("store: %w", tt.fail)
			}
			return []byte(name), nil
		})
		if !errors.Is(err, tt.want) || (string(got) == "kept") != (blob == "kept") {
			t.Errorf("the content of %q: %q, %v", blob, got, err)
		}
	}
}

func TestMarkedName(t *testing.T) {
	thread := ThreadID{Platform: "slack", Channel: "T1:C1", Root: "1.0"}
	mark := Post{Key: "file/c1/0"}.Mark(thread)
	if other := (Post{Key: "file/c1/1"}).Mark(thread); len(mark) != 8 || other == mark {
		t.Errorf("marks %q and %q", mark, other)
	}
	if got, want := MarkedName("a/plot.png", mark), "plot-"+mark+".png"; got != want {
		t.Errorf("MarkedName = %q, want %q", got, want)
	}
	for _, name := range []string{"plot.png", "", "Makefile", "v1.2 of the plan", "a.b.c", "a.averylongextensionitis", "x-" + mark} {
		got := MarkedName(name, mark)
		if !HasMark(got, mark) || !HasMark(strings.ReplaceAll(got, " ", "_"), mark) {
			t.Errorf("%q lacks its mark", got)
		}
		if HasMark(got, "aaaaaaaa") || HasMark(got, "") || HasMark(FileName("x-"+mark+".json.png"), mark) {
			t.Errorf("%q has a mark that it was not given", got)
		}
	}
}

// Any name that a tool gives becomes a name that every file system takes. A second
// cleaning changes nothing.
func FuzzFileName(f *testing.F) {
	for _, s := range []string{"", "a/b", "..", ".x", "\x00", "é.png", "a. .b", ". .", "x.\u202e", strings.Repeat("a", 500) + "." + strings.Repeat("b", 16), "\xff.\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := FileName(s)
		bad := strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) || r == '/' || r == '\\' })
		if got == "" || bad || got[0] == '.' || len(got) > mostFileName || !utf8.ValidString(got) {
			t.Errorf("FileName(%q) = %q", s, got)
		}
		if again := FileName(got); again != got {
			t.Errorf("FileName(%q) = %q, and of that %q", s, got, again)
		}
		if name := MarkedName(s, "k3j2h4g5"); !HasMark(name, "k3j2h4g5") {
			t.Errorf("MarkedName(%q) = %q", s, name)
		}
	})
}

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is one thing that is wrong with a file. Text says what, and what to
// write instead; it never holds a value of the file.
type Mistake struct {
	File string
	Line int
	Key  string // dotted path; empty for the file as a whole
	Text string
}

// String gives FILE:LINE: key: text.
func (m Mistake) String() string {
	if m.Key == "" {
		return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", m.File, m.Line, m.Key, m.Text)
}

// Mistakes is everything that is wrong with a file, in the order of its lines.
type Mistakes []Mistake

// Error lists the mistakes, one a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// sorted puts mistakes into the order of their lines and keys.
func sorted(m []Mistake) Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	return m
}

// report collects the mistakes of one file.
type report struct {
	file     string
	lines    map[string]int // of every key that is written
	mistakes []Mistake
	doubts   map[string]bool // keys that have a mistake already, or an unset name where that is fine
}

func newReport(file string) *report {
	return &report{file: file, lines: map[string]int{}, doubts: map[string]bool{}}
}

// add notes a mistake at a line.
func (r *report) add(line int, key, text string, args ...any) {
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	r.doubts[key] = true
	r.mistakes = append(r.mistakes, Mistake{r.file, max(line, 1), key, text})
}

// at notes a mistake of a key, at its line or that of the nearest key above it.
// The first mistake of a key is enough, and a key whose value is not known has
// none.
func (r *report) at(key, text string, args ...any) {
	if !r.doubtful(key) {
		r.add(r.line(key), key, text, args...)
	}
}

// doubtful says that the value of a key is not the file's, because of an earlier
// mistake, so that no rule applies to it.
func (r *report) doubtful(key string) bool {
	for ; key != ""; key = parent(key) {
		if r.doubts[key] {
			return true
		}
	}
	return false
}

// line finds where a key is written, or else the nearest key above it.
func (r *report) line(key string) int { return lineOf(r.lines, key) }

func lineOf(lines map[string]int, key string) int {
	for ; key != ""; key = parent(key) {
		if n, ok := lines[key]; ok {
			return n
		}
	}
	return 1
}

// parent cuts the last part off a dotted path: a.b[0] → a.b → a → nothing.
func parent(key string) string {
	i := strings.LastIndexAny(key, ".[")
	if i < 0 {
		return ""
	}
	return key[:i]
}

// join makes the dotted path of a key in a section.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Package prose measures how plain the documents and comments are: one reading
// must do for somebody who reads English as a second language.
package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	maxSentence  = 28     // words of a sentence, in nine of ten
	maxDesign    = 12_000 // bytes of docs/design.md
	maxVersion   = 40     // lines of the newest version in CHANGELOG.md
	maxObscure   = 59     // comments that open with a relative clause
	obscureLimit = `^(What|Whoever|Whatever|Whom|Of)\b`
)

func TestSentencesAreShort(t *testing.T) {
	var lengths []int
	for _, name := range pages(t) {
		for _, sentence := range sentences(read(t, name)) {
			lengths = append(lengths, words(sentence))
		}
	}
	slices.Sort(lengths)
	if p90 := lengths[len(lengths)*9/10]; p90 > maxSentence {
		t.Errorf("one sentence in ten of README.md and docs has %d words or more, want at most %d", p90, maxSentence)
	}
}

func TestDesignIsShort(t *testing.T) {
	if n := len(read(t, "docs/design.md")); n > maxDesign {
		t.Errorf("docs/design.md has %d bytes, want at most %d: a choice belongs in docs/decisions", n, maxDesign)
	}
}

func TestNewestVersionIsShort(t *testing.T) {
	_, version, found := strings.Cut(read(t, "CHANGELOG.md"), "\n## ")
	version, _, _ = strings.Cut(version, "\n## ")
	if n := len(strings.Split(strings.TrimSpace(version), "\n")); !found || n > maxVersion {
		t.Errorf("the newest version in CHANGELOG.md has %d lines, want at most %d", n, maxVersion)
	}
}

// A comment names its actor first. A relative clause in the place of the subject
// makes people read it twice.
func TestCommentsNameTheirActor(t *testing.T) {
	obscure := regexp.MustCompile(obscureLimit)
	var found []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			if obscure.MatchString(text(group)) {
				found = append(found, files.Position(group.Pos()).String())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > maxObscure {
		t.Errorf("%d comments open with What, Whoever, Whatever, Whom or Of, want at most %d:\n%s", len(found), maxObscure, strings.Join(found, "\n"))
	}
}

// The measures themselves are right: code and tables are no sentences.
func TestSentences(t *testing.T) {
	page := "# A heading\n\nnod asks first. Then it\nruns `a b c`, see [the page](x.md).\n\n```\ncode is. No sentence\n```\n| a | table |\n- One item\n2. Another one!\n"
	want := []string{"nod asks first.", "Then it runs X, see the page.", "One item", "Another one!"}
	if got := sentences(page); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := words("Then it runs X - see the page."); n != 7 {
		t.Errorf("%d words, want 7", n)
	}
}

var (
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	noProse  = regexp.MustCompile(`(?m)^ *([#|<]).*$`)
	listItem = regexp.MustCompile(`(?m)^ *(?:[-*]|\d+\.) `)
	code     = regexp.MustCompile("`[^`]*`")
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	stop     = regexp.MustCompile(`([.!?][)"”*_]*)\s+`)
	word     = regexp.MustCompile(`\S*[\pL\pN]\S*`)
)

// sentences gives the sentences of a page in Markdown. An item of a list ends one.
// Code is one word; headings, tables and blocks of code are left out.
func sentences(page string) []string {
	page = fence.ReplaceAllString(page, "\n")
	page = noProse.ReplaceAllString(page, "\n")
	page = listItem.ReplaceAllString(page, "\n\n")
	var out []string
	for _, paragraph := range strings.Split(page, "\n\n") {
		paragraph = link.ReplaceAllString(code.ReplaceAllString(paragraph, "X"), "$1")
		for sentence := range strings.SplitSeq(stop.ReplaceAllString(paragraph, "$1\x00"), "\x00") {
			if sentence = strings.Join(strings.Fields(sentence), " "); words(sentence) > 0 {
				out = append(out, sentence)
			}
		}
	}
	return out
}

func words(sentence string) int { return len(word.FindAllString(sentence, -1)) }

// text gives the text of a comment, also of one in the form of a directive.
func text(group *ast.CommentGroup) string {
	return strings.TrimSpace(strings.TrimLeft(group.List[0].Text, "/* "))
}

// pages lists README.md and all pages below docs.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md"}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			path, err = filepath.Rel("../..", path)
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) == 1 {
		t.Fatal("no pages below docs:", err)
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

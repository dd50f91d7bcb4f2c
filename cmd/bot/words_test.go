package main

import (
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// The page and the terminal say the same words: the parts of a step, its folded line,
// the approvers and the time limit, and the decision.
func TestSameWords(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	n := newService(t, w, obedient, setup{})
	n.start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the terminal says\n%s", w.out)
		}
	})
	types := func(line, until string) {
		_, _ = io.WriteString(w.typed, line+"\n")
		eventually(t, "the terminal says "+until, func() bool { return strings.Contains(w.out.String(), until) })
	}
	types("look it up", "Answer: The tool says: it is 42")
	types("deploy prod now", "answer y or n")
	lines := func() []string { return strings.Split(w.out.String(), "\n") }
	prints := func(line string) func() bool { return func() bool { return slices.Contains(lines(), line) } }

	page := place{channel: "terminal"}
	var terms string
	eventually(t, "the approval is on the page", func() bool {
		terms = shown(w.cards("ada", page), "terms")
		return terms != ""
	})
	terms = regexp.MustCompile(` · [0-9a-f]{12}$`).ReplaceAllString(terms, "") // the terminal asks for a decision, not for a comparison
	eventually(t, "the terminal says what the page does: "+terms, prints("  "+terms))
	if head := shown(w.cards("ada", page), "headline"); head != "Approval 1: deploy" || !strings.Contains(w.out.String(), head+` {"env":"prod"}`) {
		t.Errorf("the page asks %q, the terminal\n%s", head, w.out)
	}

	types("y", "Answer: The tool says: deployed prod")
	var all []*html.Node
	eventually(t, "both turns are done on the page", func() bool {
		all = w.cards("ada", page)
		return strings.Contains(shown(all, "headline"), "done in") && strings.Count(shown(all, "status"), "1 step") == 2
	})
	for _, what := range strings.Split(shown(all, "headline"), "\n") {
		eventually(t, "the terminal says what the page does: "+what, prints(what))
	}
	for _, what := range strings.Split(shown(all, "status"), "\n") {
		eventually(t, "the terminal keeps of the steps what the page does: "+what, prints("▸ "+what+"  (type steps to open)"))
	}
	for _, label := range []string{"Thought", "Action", "Observation"} {
		if !strings.Contains(shown(all, "label"), label) || !strings.Contains(w.out.String(), "\n"+label+": ") {
			t.Errorf("%s is not said in both places", label)
		}
	}
}

// shown gives the texts of a page's elements of a class, a line each.
func shown(cards []*html.Node, class string) string {
	var out []string
	for _, card := range cards {
		for n := range card.Descendants() {
			if has(n, "class", class) {
				out = append(out, strings.Join(strings.Fields(words(n)), " "))
			}
		}
	}
	return strings.Join(out, "\n")
}

func words(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// The log tells a length of time in words, not in nanoseconds.
func TestLogTellsTime(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out strings.Builder
		c := &commands{LogFormat: format}
		c.logger(Env{Err: &out}, slog.LevelInfo).Info("socket open", "for_about", 5*time.Hour+time.Minute)
		if !strings.Contains(out.String(), "5h1m0s") {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

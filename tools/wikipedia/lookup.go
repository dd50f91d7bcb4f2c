package wikipedia

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nod/chat"
	"nod/llm"
	"nod/tools"
)

// wikiArgs are the arguments of both tools.
type wikiArgs struct{ Entity, Keyword string }

// entity is the title that is looked for; "" is none that could be one.
func (a wikiArgs) entity() string {
	if strings.ContainsAny(a.Entity, "|\x1f") { // the API takes these for several titles
		return ""
	}
	return strings.Join(strings.Fields(a.Entity), " ")
}

func (a wikiArgs) keyword() string {
	return strings.ToLower(strings.Join(strings.Fields(a.Keyword), " "))
}

// lookup gives the next sentence with a keyword in the page that the thread
// found last.
func (w *encyclopedia) lookup(ctx context.Context, in tools.Input, arg wikiArgs) (llm.Result, error) {
	keyword := arg.keyword()
	if keyword == "" {
		return tools.Failed("the keyword is empty; write a word that stands in the page"), nil
	}
	page, since, err := w.reading(ctx, in.Past)
	if err != nil {
		return wikiFailed(err)
	}
	if page.text == "" {
		return tools.Failed("there is no page to look in: none was found in this conversation yet, or too long ago. Call wikipedia_search first"), nil
	}
	found, shown := page.with(keyword), page.shown(keyword, since)
	switch {
	case len(found) == 0:
		return llm.Result{Text: fmt.Sprintf("The page %s has no sentence with %q. Try another word, or search another page.", page.title, arg.Keyword)}, nil
	case shown >= len(found):
		return llm.Result{Text: fmt.Sprintf("No more results: all %d sentences with %q in the page %s were shown.", len(found), arg.Keyword, page.title)}, nil
	}
	return llm.Result{Text: fmt.Sprintf("(Result %d/%d) %s", shown+1, len(found), found[shown])}, nil
}

// reading finds the page of the last search that found one, and the calls since
// then. A page without text says that there was none.
func (w *encyclopedia) reading(ctx context.Context, past []chat.ToolCall) (wikiPage, []chat.ToolCall, error) {
	for i, c := range slices.Backward(past) {
		if c.Tool != "wikipedia_search" || c.State != chat.CallDone {
			continue
		}
		var arg wikiArgs
		if err := json.Unmarshal([]byte(c.Args), &arg); err != nil || arg.entity() == "" {
			continue
		}
		if strings.HasPrefix(c.Observation, wikiNone+arg.entity()) || strings.Contains(c.Observation, wikiSeveral) {
			continue
		}
		page, err := w.page(ctx, arg.entity())
		if err != nil || page.text != "" {
			return page, past[i+1:], err
		}
	}
	return wikiPage{}, nil, nil
}

// with gives the sentences that hold a keyword.
func (p wikiPage) with(keyword string) []string {
	var found []string
	for _, s := range p.sentences {
		if strings.Contains(strings.ToLower(s), keyword) {
			found = append(found, s)
		}
	}
	return found
}

// shown counts the lookups of a keyword that lie before a new one, back to the
// last one that found a sentence with another keyword: from there on the
// matches are counted anew.
func (p wikiPage) shown(keyword string, past []chat.ToolCall) int {
	n := 0
	for _, c := range slices.Backward(past) {
		if c.Tool != "wikipedia_lookup" || c.State != chat.CallDone {
			continue
		}
		var arg wikiArgs
		if err := json.Unmarshal([]byte(c.Args), &arg); err != nil {
			continue
		}
		if other := arg.keyword(); other == keyword {
			n++
		} else if len(p.with(other)) > 0 {
			break
		}
	}
	return n
}

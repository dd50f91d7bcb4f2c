// Package team is the tool that searches the messages of a chat platform with the eyes of
// the person who asks. The platform finds them; the tool lists them for the model.
package team

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"nod/chat"
	"nod/llm"
	"nod/tools"
)

//go:embed team.md
var prose string

// Name is the name of the tool.
const Name = "team_search"

const parameters = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":400,"description":"for example deploy window"}},"required":["query"],"additionalProperties":false}`

// Find searches a platform by one of the messages eyes. Its errors are [chat.ErrBlind], a
// [chat.Refused], or the operator's.
type Find func(ctx context.Context, thread chat.ThreadID, eyes []chat.MessageRef, query string) ([]chat.Hit, error)

// Search is the tool before its platform is there.
type Search struct{ find atomic.Pointer[Find] }

// Use has the tool search a platform.
func (s *Search) Use(f Find) { s.find.Store(&f) }

// Tool is the tool.
func (s *Search) Tool() tools.Tool {
	t := tools.New(Name, prose, parameters, s.run)
	t.ReadOnly, t.Outside, t.Risk = true, true, tools.Auto
	return t
}

// mostText is how much of a message the model reads, in bytes.
const mostText = 600

func (s *Search) run(ctx context.Context, in tools.Input, arg struct{ Query string }) (llm.Result, error) {
	find := s.find.Load()
	if find == nil || len(in.Eyes) == 0 {
		return tools.Failed("no message of the person who asks lets you search here. Do without it, and say so."), nil
	}
	hits, err := (*find)(ctx, in.Thread, in.Eyes, arg.Query)
	var refused chat.Refused
	switch {
	case errors.Is(err, chat.ErrBlind):
		return tools.Failed("the platform lets you search only for a short while after a message, and not after a restart. Ask the person to ask again."), nil
	case errors.As(err, &refused):
		return tools.Failed("the search was refused (%s). Do without it, and say so.", tools.OneLine(refused.Code, 60)), nil
	case err != nil:
		return llm.Result{}, fmt.Errorf("search the platform: %w", err)
	case len(hits) == 0:
		return llm.Result{Text: "No message fits. Try other words."}, nil
	}
	var b strings.Builder
	for i, h := range hits {
		fmt.Fprintf(&b, "%d. %s in %s: %s\n%s\n", i+1, tools.OneLine(h.Author, 80), tools.OneLine(h.Place, 80), tools.OneLine(h.Text, mostText), tools.OneLine(h.Link, 300))
	}
	return llm.Result{Text: b.String()}, nil
}

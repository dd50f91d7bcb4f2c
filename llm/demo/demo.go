// Package demo is a small script in the place of a model. It lets `bot chat` show
// steps, parallel tool calls and approvals with no account and no network. It says
// of itself that it is a script.
//
// It looks for a few things in a person's message (arithmetic, questions for the
// time, names of tools), calls tools for them, and reads the results out. The same
// request always gives the same response. It knows a tool only by its definition in
// the request.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nod/llm"
)

// New returns the demo model. It has no state, and no way to fail but a
// context that is done.
func New() llm.Model { return model{} }

type model struct{}

// Paced is a model that watches its own words: each piece is followed by a pause,
// as people are used to of language models.
func Paced(next llm.Model, pause time.Duration) llm.Model { return paced{next, pause} }

type paced struct {
	llm.Model
	pause time.Duration
}

// Complete implements llm.Model.
func (p paced) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	slow := watch
	if watch != nil {
		slow = func(d llm.Delta) {
			watch(d)
			select {
			case <-ctx.Done():
			case <-time.After(p.pause):
			}
		}
	}
	r, err := p.Model.Complete(ctx, req, slow)
	if err == nil && ctx.Err() != nil {
		return llm.Response{}, fmt.Errorf("answer: %w", ctx.Err())
	}
	return r, err
}

// Complete implements llm.Model.
func (model) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, fmt.Errorf("answer: %w", err)
	}
	resp := respond(req)
	if watch != nil {
		for _, w := range strings.SplitAfter(resp.Reasoning, " ") {
			watch(llm.Delta{Reasoning: w})
		}
		for _, w := range strings.SplitAfter(resp.Text, " ") {
			watch(llm.Delta{Text: w})
		}
	}
	return resp, nil
}

func respond(req llm.Request) llm.Response {
	if text, ok := aside(req.Messages); ok {
		return llm.Response{Text: text, Finish: "stop"}
	}
	c := read(req.Messages)
	if req.NoCalls {
		req.Tools = nil
	}
	if fresh := makePlan(c.fresh, req.Tools); len(fresh.calls) > 0 {
		return call(fresh)
	}
	return llm.Response{Text: answer(c, makePlan(c.asked, req.Tools), req.Tools), Finish: "stop"}
}

func call(p plan) llm.Response {
	resp := llm.Response{Finish: "tool_calls"}
	var why []string
	for i, k := range p.calls {
		args, _ := json.Marshal(k.args) // strings, numbers and truth values always marshal
		resp.Calls = append(resp.Calls, llm.Call{ID: "demo-" + strconv.Itoa(i+1), Name: k.tool, Args: string(args)})
		if len(why) == 0 || why[len(why)-1] != k.why {
			why = append(why, k.why)
		}
	}
	resp.Reasoning = strings.Join(why, " ")
	return resp
}

// conversation is the part of a prompt that a script can make use of.
type conversation struct {
	first bool     // nothing was answered before
	asked string   // messages since the last answer, and the text that this answer asked about
	fresh string   // the part of it after the last tool calls
	done  []result // results of the tool calls since the last answer
}

type result struct {
	call llm.Call
	text string
}

func read(msgs []llm.Message) conversation {
	c := conversation{first: true}
	var before string // the messages before the last answer
	calls := map[string]llm.Call{}
	for _, m := range msgs {
		switch m.Role {
		case llm.User:
			if note(m) {
				continue
			}
			c.asked = join(c.asked, m.Text)
			c.fresh = join(c.fresh, m.Text)
		case llm.Assistant:
			c.fresh = ""
			for _, k := range m.Calls {
				calls[k.ID] = k
			}
			if len(m.Calls) > 0 {
				continue
			}
			before, c.asked, c.done, c.first = c.asked, "", nil, false
			if !strings.Contains(m.Text, needs) || len(calls) > 0 {
				before = ""
			}
			c.fresh, c.asked = before, before
			clear(calls)
		case llm.ToolRole:
			if k, ok := calls[m.CallID]; ok {
				c.done = append(c.done, result{k, m.Text})
			}
		}
	}
	if c.asked == before { // nobody has answered the demo's question
		c.fresh = ""
	}
	return c
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// quote sets a name or a value apart in Markdown.
func quote(s string) string { return fmt.Sprintf("`%s`", strings.ReplaceAll(s, "`", "'")) }

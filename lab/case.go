package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/agent/view"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// Case is a turn with its expected outcome, for a team's own checks: messages, tool
// results, and the calls and words that must or must not come. All messages are there
// when the turn begins; every approval is given.
type Case struct {
	Name     string       `json:"name"`
	Messages []CaseSaid   `json:"messages"`
	Results  []CaseResult `json:"results,omitempty"`
	Expect   Expect       `json:"expect"`
	Forbid   []CaseCall   `json:"forbid,omitempty"`
	MaxCost  float64      `json:"max_cost,omitempty"` // at the prices of the file
}

// CaseSaid is a message of somebody's.
type CaseSaid struct {
	User string `json:"user"`
	Text string `json:"text"`
}

// CaseCall is a call; without Arguments, one with any.
type CaseCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// CaseResult is a tool's result for the next matching call.
type CaseResult struct {
	CaseCall
	Out string `json:"out"`
}

// Expect is the expected outcome. Other calls may come between; with the order strict
// the expected ones come in order.
type Expect struct {
	Calls  []CaseCall `json:"calls,omitempty"`
	Order  string     `json:"order,omitempty"`  // any (the default) or strict
	Answer string     `json:"answer,omitempty"` // a regular expression
}

// ReadCases reads cases: JSON objects, one behind the other or in an array.
func ReadCases(r io.Reader) ([]Case, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields()
	var list []Case
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		if err := in.Decode(&list); err != nil {
			return nil, err
		}
	} else {
		for {
			var c Case
			err := in.Decode(&c)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("case %d: %w", len(list)+1, err)
			}
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("it holds no cases")
	}
	seen := map[string]bool{}
	for i, c := range list {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("case %d: %w", i+1, err)
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("case %d: the name %q comes twice", i+1, c.Name)
		}
		seen[c.Name] = true
	}
	return list, nil
}

func (c Case) check() error {
	switch _, err := regexp.Compile(c.Expect.Answer); {
	case c.Name == "":
		return errors.New("it has no name")
	case len(c.Messages) == 0:
		return fmt.Errorf("%q has no messages", c.Name)
	case err != nil:
		return fmt.Errorf("%q: expect.answer: %w", c.Name, err)
	case !slices.Contains([]string{"", "any", "strict"}, c.Expect.Order):
		return fmt.Errorf("%q: expect.order is %q: write any or strict", c.Name, c.Expect.Order)
	}
	return nil
}

// Check runs a case, and says in one line why it fails; nothing when it holds.
func (l *Lab) Check(ctx context.Context, c Case) (why string, err error) {
	if len(c.Expect.Calls) == 0 && c.Expect.Answer == "" && len(c.Forbid) == 0 && c.MaxCost == 0 {
		return "it expects nothing yet: write into expect or forbid what would be right", nil
	}
	if c.MaxCost > 0 && l.Agent.Prices == nil {
		return "llm.prices is not set, so max_cost can't be checked", nil
	}
	out, err := l.play(ctx, c)
	if err != nil {
		return "", err
	}
	return c.judge(out), nil
}

// play runs the turn of a case.
func (l *Lab) play(ctx context.Context, c Case) (Outcome, error) {
	thread := chat.ThreadID{Platform: "case", Channel: "case", Root: "1"}
	rec := &Recorded{Thread: thread, Turn: 1, At: time.Now(), seq: uint64(len(c.Messages)) + 1}
	for i, m := range c.Messages {
		id := strconv.Itoa(i + 1)
		rec.entries = append(rec.entries, memory.Entry{Seq: uint64(i + 1), At: rec.At, Body: memory.Message{Message: chat.Message{
			Ref:  chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: id},
			From: chat.User{ID: chat.UserID(m.User), Name: m.User}, Text: m.Text, Sent: rec.At,
		}}})
	}
	for _, r := range c.Results {
		k := &recordedCall{Call: memory.Call{Tool: r.Name}}
		if r.Arguments != nil {
			k.digest = args.Digest(r.Name, r.Arguments)
		}
		k.result = &memory.Result{Tool: r.Name, State: chat.CallDone, Text: r.Out}
		rec.calls = append(rec.calls, k)
	}
	s := l.stage(rec, rec.seq-1)
	s.ask = l.askModel
	out, err := s.run(ctx)
	out.Cost = l.Agent.Prices.Cost(out.usage, "")
	return out, err
}

// judge explains a difference from the expected outcome.
func (c Case) judge(out Outcome) string {
	rest := slices.Clone(out.Calls)
	for _, want := range c.Expect.Calls {
		i := slices.IndexFunc(rest, want.fits)
		switch {
		case i < 0 && c.Expect.Order == "strict" && slices.ContainsFunc(out.Calls, want.fits):
			return fmt.Sprintf("%s was not called in this order; called: %s", want, called(out.Calls))
		case i < 0:
			return fmt.Sprintf("%s was not called; called: %s", want, called(out.Calls))
		case c.Expect.Order == "strict":
			rest = rest[i+1:]
		default:
			rest = slices.Delete(rest, i, i+1)
		}
	}
	for _, not := range c.Forbid {
		if i := slices.IndexFunc(out.Calls, not.fits); i >= 0 {
			return fmt.Sprintf("%s was called, which is forbidden", chat.Exact(clip(out.Calls[i].String())))
		}
	}
	if ok, _ := regexp.MatchString(c.Expect.Answer, out.Answer); !ok {
		return fmt.Sprintf("the answer does not match %q: %s", c.Expect.Answer, cmp.Or(clip(out.Answer), "none"))
	}
	if c.MaxCost > 0 && out.Cost > c.MaxCost {
		return fmt.Sprintf("it costs %.6g, and may cost %.6g", out.Cost, c.MaxCost)
	}
	return ""
}

func (c CaseCall) fits(made Call) bool {
	return c.Name == made.Name && (c.Arguments == nil || bytes.Equal(args.Canonical(c.Arguments), made.Arguments))
}

// String is the call as a line shows it.
func (c CaseCall) String() string {
	if c.Arguments == nil {
		return c.Name
	}
	return chat.Exact(clip(c.Name + " " + string(args.Canonical(c.Arguments))))
}

func called(calls []Call) string {
	var list []string
	for _, c := range calls {
		list = append(list, chat.Exact(clip(c.String())))
	}
	return cmp.Or(strings.Join(list, "; "), "none")
}

// Disliked makes cases of a thread's turns that got 👎, with their calls and results.
// Nobody knows the right outcome yet, so such a case fails until somebody writes it
// down.
func Disliked(thread chat.ThreadID, entries []memory.Entry, since time.Time) []Case {
	recorded, _ := Read(thread, entries, since)
	logged := slices.DeleteFunc(slices.Clone(entries), func(e memory.Entry) bool { return e.Seq == 0 })
	var out []Case
	for _, t := range view.Turns(logged) {
		i := slices.IndexFunc(recorded, func(r *Recorded) bool { return r.Turn == t.Turn })
		if bad := complaints(t); i >= 0 && len(bad) > 0 {
			out = append(out, caseOf(recorded[i], earlier(recorded, recorded[i]), t, bad))
		}
	}
	return out
}

// complaints are who did not like the answer, and why.
func complaints(t view.Told) []string {
	var out []string
	for _, o := range t.Opinions {
		switch {
		case o.Good:
		case o.Text == "":
			out = append(out, clip(o.By.Display()))
		default:
			out = append(out, clip(o.By.Display())+": "+clip(o.Text))
		}
	}
	return out
}

// earlier lists the calls of the turns that one goes on from, up to there.
func earlier(turns []*Recorded, r *Recorded) []*recordedCall {
	if r.opened.From == "" {
		return nil
	}
	for _, t := range turns {
		if i := slices.IndexFunc(t.calls, func(c *recordedCall) bool { return c.ID == r.opened.From }); i >= 0 {
			return append(earlier(turns, t), t.calls[:i]...)
		}
	}
	return nil
}

func caseOf(r *Recorded, before []*recordedCall, t view.Told, bad []string) Case {
	c := Case{Name: fmt.Sprintf("%s turn %d (👎 %s)", r.Thread, r.Turn, strings.Join(bad, "; "))}
	for _, m := range t.Messages {
		c.Messages = append(c.Messages, CaseSaid{User: m.From.Display(), Text: m.Text})
	}
	for _, k := range append(before, r.calls...) {
		if made := callOf(k.Call); k.ran() {
			c.Results = append(c.Results, CaseResult{CaseCall(made), k.result.Text})
		}
	}
	return c
}

// Package facts judges facts: who may write one down, and which ones a prompt shows.
package facts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"nod/agent/do"
	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/prompt"
	"nod/agent/thread"
	"nod/chat"
	"nod/chat/vocabulary"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// A fact is a text that somebody wrote down for all threads of a channel. The channel's
// book holds it; see [memory.Book]. A decision that needs the book says [do.Recall] first.
// The log of a thread names the facts that its prompts show, so what the model saw is
// still a function of the log, and of the texts that nobody forgot.

// Words about facts.
const (
	textNoFacts    = "I keep no facts here: whoever runs me has not switched them on."
	textNothingYet = "Nothing is written down in this channel. `remember: …` does it."
	textForgetWhat = "`forget` erases what I remember of this thread; `forget fact N` forgets a fact of this channel, and `facts` lists them."
	notWritten     = "not written down: "
)

// Tool is the tool by which the model asks to write a fact down.
func Tool(rules memory.Rules, f policy.Facts) policy.Tool {
	t := policy.Tool{Risk: policy.Ask, Rules: rules, Tool: llm.Tool{
		Name:        thread.RememberTool,
		Description: "Write down one fact that every thread of this channel is shown from now on. People approve each fact. Use it only when somebody asks you to keep something.",
		Parameters:  json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"text":{"type":"string","minLength":1,"maxLength":%d}},"required":["text"],"additionalProperties":false}`, f.Size)),
	}}
	t.Rules.Grants = memory.Grants{}
	t.Schema, _ = args.Compile(t.Parameters) // a test compiles it
	return t
}

// Meant says whether a message is a word about facts.
func Meant(limits policy.Facts, m chat.Message) bool {
	if limits.Most == 0 || m.From.Bot || m.Aside || m.Outside {
		return false
	}
	_, _, ok := vocabulary.Facts(m.Text)
	return ok
}

// Case judges the facts of a thread's channel.
type Case struct {
	Thread *thread.Thread
	Book   *memory.Book // nil: nobody read it yet
	Limits policy.Facts
	Direct bool // the thread is the direct conversation with one person
}

// Recall asks for the book where facts are on and it is not read yet.
func (k Case) Recall() do.Action {
	if k.Limits.Most == 0 || k.Book != nil {
		return nil
	}
	return do.Recall{}
}

// Show notes the facts that the open turn's prompts show from now on. No fact is shown
// to people of another organisation.
func (k Case) Show(t *thread.Turn) do.Action {
	if act := k.Recall(); act != nil {
		return act
	}
	var want []memory.FactRef
	if k.Book != nil && !t.HearsOthers() {
		want = k.Book.Refs()
	}
	if slices.Equal(want, k.Thread.Facts) {
		return nil
	}
	return do.Record{Bodies: []memory.Body{memory.Recalled{Facts: want}}}
}

// aboutFacts are the words whose answers need the book.
var aboutFacts = []string{"remember", "facts", "forget fact", "memory"}

// Do does what people asked for about facts by word.
func (k Case) Do() do.Action {
	for _, c := range k.Thread.Inbox.Commands {
		if k.Thread.Has(c.Notice()) || !slices.Contains(aboutFacts, c.Word) {
			continue
		}
		if act := k.Recall(); act != nil {
			return act
		}
		_, done := k.Thread.Became[c.Seq]
		if done || k.Limits.Most == 0 {
			continue
		}
		if c.Word == "forget fact" {
			return do.Jot{Fact: memory.Fact{ID: c.FactID(), By: c.From}, Forget: thread.Number(c.Arg), Message: c.Seq}
		}
		if c.Word == "remember" {
			if why := k.unfit(c.From, c.Arg); why != "" {
				return do.Record{Bodies: []memory.Body{memory.Remembered{By: c.From, Message: c.Seq, Refused: why}}}
			}
			return do.Jot{Fact: memory.Fact{ID: c.FactID(), Text: c.Arg, By: c.From, At: c.At}, Message: c.Seq}
		}
	}
	return nil
}

// Here is a text of ours as it reads in this place: a direct conversation is no channel.
func (k Case) Here(text string) string {
	if !k.Direct {
		return text
	}
	return strings.ReplaceAll(text, "this channel", "this conversation")
}

// Stay says how many facts `forget` leaves.
func (k Case) Stay(facts int) string {
	if facts == 0 {
		return ""
	}
	return fmt.Sprintf(k.Here(" Facts of this channel that stay: %d; `facts` lists them."), facts)
}

func (k Case) unfit(by chat.User, text string) string {
	switch {
	case !by.MayWrite():
		return "guests and people of other organisations can't"
	case strings.TrimSpace(text) == "":
		return "there is no text; write it as in `remember: no deploys on Friday`"
	case utf8.RuneCountInString(text) > k.Limits.Size:
		return fmt.Sprintf("it is longer than %d characters", k.Limits.Size)
	}
	return ""
}

// JotOf writes down the fact of an approved call. It is written when the entry is in
// the log, so nothing has to run.
func (k Case) JotOf(c *thread.Call, source string, started memory.Started) do.Action {
	var said struct{ Text string }
	_ = json.Unmarshal([]byte(c.Args), &said) // its schema was checked
	if why := k.unfit(c.Turn.Requester, said.Text); why != "" {
		return do.Record{Bodies: []memory.Body{memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: notWritten + why, Origin: thread.Inside}}}
	}
	return do.Jot{
		Fact: memory.Fact{ID: c.ID, Text: strings.TrimSpace(said.Text), By: c.Turn.Requester, At: k.Thread.Now, Source: source},
		Then: []memory.Body{started, memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDone, Origin: thread.Inside}},
	}
}

// Jotted changes a book, and gives the entries to record and the fact that was forgotten.
func Jotted(limits policy.Facts, act do.Jot, b *memory.Book) (out []memory.Body, gone []*memory.Fact) {
	noted := memory.Remembered{Number: act.Forget, By: act.Fact.By, Message: act.Message, Forgot: act.Forget > 0}
	if act.Forget > 0 {
		fact, ok := b.Drop(act.Forget, act.Fact.Name())
		if !ok {
			noted.Refused = "there is no such fact"
		}
		if fact != nil {
			gone = append(gone, fact)
		}
		return []memory.Body{noted}, gone
	}
	if noted.Number = b.Add(act.Fact, limits.Most); noted.Number == 0 {
		noted.Refused = fmt.Sprintf("this channel has %d facts, and that is the most", limits.Most)
	} else {
		noted.Name = act.Fact.Name()
	}
	for _, body := range act.Then {
		if r, ok := body.(memory.Result); ok {
			noted.Call, r.Text = r.Call, fmt.Sprintf("Fact %d of this channel is written down.", noted.Number)
			if noted.Refused != "" {
				r.State, r.Text = chat.CallFailed, notWritten+noted.Refused
			}
			body = r
		}
		out = append(out, body)
	}
	return append(out, noted), nil
}

func (k Case) jotted(c *thread.Command) string {
	b, ok := k.Thread.Became[c.Seq].(memory.Remembered)
	switch {
	case !ok:
		return textNoFacts
	case c.Word == "forget fact" && b.Refused != "":
		return "There is no fact " + c.Arg + " here. `facts` lists them."
	case c.Word == "forget fact":
		return fmt.Sprintf("Fact %d is forgotten.", b.Number)
	case b.Refused != "":
		return notWritten + k.Here(b.Refused)
	}
	text := memory.Forgotten
	if f := k.Book.Fact(b.Number, b.Name); f != nil {
		text = fmt.Sprintf("%q", phrase.OneLine(f.Text))
	}
	return fmt.Sprintf("Fact %d of this channel: %s (%s)", b.Number, text, phrase.Name(b.By))
}

// Reply answers a word about facts.
func (k Case) Reply(c *thread.Command) string {
	switch c.Word {
	case "facts":
		return k.list()
	case "forget what":
		return k.Here(textForgetWhat)
	}
	return k.jotted(c)
}

func (k Case) list() string {
	switch {
	case k.Book == nil:
		return textNoFacts
	case len(k.Book.Facts) == 0:
		return k.Here(textNothingYet)
	}
	return k.Here("Facts of this channel:\n- ") + strings.Join(Lines(k.Book), "\n- ")
}

// Lines writes the facts of a book, a line each.
func Lines(b *memory.Book) (out []string) {
	for _, f := range b.Facts {
		out = append(out, prompt.FactLine(f))
	}
	return out
}

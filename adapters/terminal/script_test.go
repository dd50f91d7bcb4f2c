package terminal

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/ledger"
)

// noon is when everything in these tests happens.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// bot plays the bot's part of a conversation from a script: blocks that begin
// with `on` and the event that is expected, followed by what the run then
// does. It draws from a goroutine of its own, as the run does.
//
//	on message TEXT | on react EMOJI CALL | on unreact EMOJI CALL | on halt
//	working | idle
//	think TEXT | call ID TOOL ARGS | observe ID TEXT | state ID STATE | inquirer ID [NAME] | done TOOK TOKENS
//	file NAME | answer TEXT | notice TEXT | ask ID TOOL ARGS | outcome ID OUTCOME [NAME [FATE]] | seen | whisper TEXT
//
// A line that begins with ~ changes the steps without drawing them. \n and \e
// in a text are a line end and an escape.
type bot struct {
	*ledger.Ledger
	t      *testing.T
	draw   *Adapter
	blocks [][]string
	events chan string
	fail   error // what the inbox returns

	mu   sync.Mutex
	last chat.MessageRef // the person's last message
	ids  map[string]bool // event ids
	asks map[string]chat.Approval

	steps   chat.Steps
	stepsAt chat.MessageRef
	turn    int
	posts   int

	deserted bool // the input has ended
}

func newBot(t *testing.T, script string) *bot {
	b := &bot{Ledger: ledger.New(), t: t, events: make(chan string, 100), ids: map[string]bool{}, asks: map[string]chat.Approval{}}
	for l := range strings.Lines(script) {
		l = strings.TrimSpace(l)
		if event, ok := strings.CutPrefix(l, "on "); ok {
			b.blocks = append(b.blocks, []string{event})
		} else if l != "" {
			b.blocks[len(b.blocks)-1] = append(b.blocks[len(b.blocks)-1], l)
		}
	}
	return b
}

func (b *bot) put(event, id string) (bool, error) {
	if b.fail != nil {
		return false, b.fail
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids[id] {
		b.t.Errorf("event id %q was used before", id)
	}
	b.ids[id] = true
	b.events <- event
	return true, nil
}

func (b *bot) Message(_ context.Context, thread chat.ThreadID, m chat.Message, ids ...string) (bool, error) {
	if thread != Thread || m.From.ID != me || !m.Sent.Equal(noon) {
		b.t.Errorf("message in %v from %v at %v", thread, m.From, m.Sent)
	}
	b.mu.Lock()
	b.last = m.Ref
	b.mu.Unlock()
	text := "message " + m.Text
	for _, f := range m.Files {
		text += " with " + f.Name + " of " + f.MediaType + " kept as " + f.Blob
	}
	return b.put(text, ids[0])
}

func (b *bot) Reaction(_ context.Context, r chat.Reaction, ids ...string) (bool, error) {
	what := "react "
	if r.Removed {
		what = "unreact "
	}
	call := "?"
	b.mu.Lock()
	for id := range b.asks {
		if r.On == postRef(Thread, "ask/"+id) {
			call = id
		}
	}
	b.mu.Unlock()
	return b.put(what+r.Emoji+" "+call, ids[0])
}

func (b *bot) Halt(_ context.Context, _ chat.ThreadID, _ chat.User, ids ...string) (bool, error) {
	return b.put("halt", ids[0])
}

func (b *bot) Left(_ context.Context, _ chat.ThreadID, _ chat.User, ids ...string) (bool, error) {
	if len(b.blocks) == 0 {
		return false, nil // no script, and so nobody who would cancel anything
	}
	b.deserted = true
	return b.put("left", ids[0])
}

// Blob has one file.
func (b *bot) Keep(_ context.Context, _ chat.ThreadID, data []byte) (string, error) {
	return fmt.Sprintf("b-%d", len(data)), b.fail
}

func (b *bot) Blob(_ context.Context, _ chat.ThreadID, name string) ([]byte, error) {
	if b.fail != nil {
		return nil, b.fail
	}
	if name != "b-plot" {
		return nil, chat.ErrNoFile
	}
	return []byte("PNG"), nil
}

// run plays until ctx is done.
func (b *bot) run(ctx context.Context) {
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			if n < len(b.blocks) {
				b.t.Errorf("the adapter never sent %q", b.blocks[n][0])
			}
			return
		case event := <-b.events:
			if n >= len(b.blocks) {
				b.t.Errorf("the adapter sent %q, and nothing was expected", event)
				continue
			}
			if want := text(b.blocks[n][0]); event != want {
				b.t.Errorf("the adapter sent %q, want %q", event, want)
			}
			for _, l := range b.blocks[n][1:] {
				b.play(ctx, l)
			}
		}
	}
}

func text(s string) string { return strings.NewReplacer(`\n`, "\n", `\e`, "\x1b").Replace(s) }

func (b *bot) play(ctx context.Context, line string) {
	line, quiet := strings.CutPrefix(line, "~")
	word, rest, _ := strings.Cut(line, " ")
	id, more, _ := strings.Cut(rest, " ")
	var err error
	switch word {
	case "working", "idle":
		w := chat.Work{}
		if word == "working" {
			w.What = "Thinking"
		}
		b.draw.Working(Thread, w)
	case "think", "call", "observe", "state", "inquirer", "done":
		b.step(word, rest)
		if !quiet {
			err = b.publish(ctx)
		}
	case "answer", "notice":
		b.posts++
		p := chat.Post{Key: fmt.Sprint("text/", b.posts), Text: &chat.Text{Markdown: text(rest), Notice: word == "notice"}}
		_, err = b.draw.Post(ctx, Thread, p, false)
	case "file":
		b.posts++
		f := &chat.File{Name: text(rest), MediaType: "image/png", Size: 3, Blob: "b-plot"}
		_, err = b.draw.Post(ctx, Thread, chat.Post{Key: fmt.Sprint("file/", b.posts), File: f}, false)
	case "ask":
		a := approval(id, more)
		b.mu.Lock()
		b.asks[id] = a
		b.mu.Unlock()
		_, err = b.draw.Post(ctx, Thread, chat.Post{Key: "ask/" + id, Approval: &a}, false)
	case "outcome":
		err = b.outcome(ctx, id, more)
	case "seen":
		b.mu.Lock()
		ref := b.last
		b.mu.Unlock()
		err = b.draw.React(ctx, ref, chat.EmojiSeen)
	case "whisper":
		err = b.draw.Whisper(ctx, Thread, chat.User{ID: me}, chat.MessageRef{}, text(rest))
	default:
		b.t.Errorf("script line %q", line)
	}
	if err != nil {
		b.t.Errorf("%s: %v", line, err)
	}
}

func approval(call, toolArgs string) chat.Approval {
	tool, args, _ := strings.Cut(toolArgs, " ")
	return chat.Approval{
		Call: call, Tool: text(tool), Args: text(args), Requester: chat.User{ID: me, Name: "ada"}, Approvers: []string{"requester"},
		Quorum: 1, Approve: []string{"✅", "👍"}, Deny: []string{"❌", "👎"}, Deadline: noon.Add(30 * time.Minute),
	}
}

func (b *bot) outcome(ctx context.Context, id, rest string) error {
	word, name, _ := strings.Cut(rest, " ")
	a := b.asks[id]
	a.Outcome = chat.Outcome(word)
	if word == "-" {
		a.Outcome = ""
		a.Quorum = 2
	}
	if name != "" {
		name, fate, more := strings.Cut(name, " ")
		a.By = []chat.User{{ID: chat.UserID(name), Name: name}}
		a.Headline = word + " by " + name
		if more {
			a.Headline += " · " + fate
		}
	} else {
		a.Headline = word
	}
	if a.Outcome == chat.Cancelled && b.deserted {
		a.Why = "nobody is here to approve"
	}
	return b.draw.Edit(ctx, Thread, postRef(Thread, "ask/"+id), chat.Post{Key: "ask/" + id, Approval: &a})
}

// step changes the steps of the running turn.
func (b *bot) step(word, rest string) {
	if b.steps.Done {
		b.steps, b.stepsAt = chat.Steps{}, chat.MessageRef{}
	}
	b.steps.Version++
	id, more, _ := strings.Cut(rest, " ")
	switch word {
	case "think":
		b.steps.Items = append(b.steps.Items, chat.Step{Thought: text(rest)})
	case "call":
		tool, args, _ := strings.Cut(more, " ")
		item := &b.steps.Items[len(b.steps.Items)-1]
		item.Calls = append(item.Calls, chat.ToolCall{ID: id, Tool: text(tool), Args: text(args), State: chat.CallRunning})
	case "observe", "state", "inquirer":
		for i := range b.steps.Items {
			for j := range b.steps.Items[i].Calls {
				if c := &b.steps.Items[i].Calls[j]; c.ID != id {
					continue
				} else if word == "state" {
					c.State = chat.CallState(more)
				} else if word == "inquirer" {
					c.Inquirer = more
				} else {
					c.State, c.Observation = chat.CallDone, text(more)
				}
			}
		}
	case "done":
		b.steps.Done = true
		b.steps.Took, _ = time.ParseDuration(id)
		b.steps.Tokens.Prompt, _ = strconv.Atoi(more)
	}
}

// publish draws the steps; what it hands over does not change afterwards.
func (b *bot) publish(ctx context.Context) error {
	s := b.steps
	s.Items = make([]chat.Step, len(b.steps.Items))
	for i, item := range b.steps.Items {
		item.Calls = append([]chat.ToolCall(nil), item.Calls...)
		s.Items[i] = item
	}
	if b.stepsAt.IsZero() {
		b.turn++
		ref, err := b.draw.Post(ctx, Thread, chat.Post{Key: fmt.Sprint("steps/", b.turn), Steps: &s}, false)
		b.stepsAt = ref
		return err
	}
	return b.draw.Edit(ctx, Thread, b.stepsAt, chat.Post{Key: fmt.Sprint("steps/", b.turn), Steps: &s})
}

// buffer is an Out that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start makes an adapter that talks to the bot, with ids that count.
func start(b *bot, o Options) *Adapter {
	o.Inbox = b
	o.User.Name = "ada"
	o.Now = func() time.Time { return noon }
	a := New(o)
	n := 0
	a.newID = func() string { n++; return strconv.Itoa(n) }
	b.draw = a
	return a
}

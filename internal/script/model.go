package script

import (
	"context"
	"fmt"
	"mime"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"nod/chat"
	"nod/llm"
)

// Model says what a script tells it to, one block of lines a call:
//
//	think TEXT            reasoning
//	call TOOL ARGS        a tool call
//	say TEXT              the answer, or a thought beside calls
//	model NAME            the call is for the model of that name; none: the first
//	fail FAULT            the call fails
//	busy DURATION FAULT   the model is refused for the moment, and tried again after that
//	lasts DURATION        nothing comes for that long
//	wait                  the call goes on until it is cancelled
//	expect TEXT           the prompt must hold TEXT, where \n is a line's end
//	refuse TEXT           the prompt must not hold TEXT
//	no tools              the request must offer none
//	finish WORD           how the completion ends, such as length
//	grow TEXT             a piece of reasoning, and then a second
//	write TEXT            a piece of the answer or of a thought, where \n is a line's end, and then a second
//	calling               the word that a tool is called, and then a second
//	anew                  the stream begins anew
//	uses PROMPT COMPLETION   what the provider reports, in tokens
//	meanwhile DIRECTIVE   something that a person does while the model thinks
type Model struct {
	// Meanwhile does what a person does during a call.
	Meanwhile func(directive string)
	// Complain hears what is wrong with a request.
	Complain func(format string, args ...any)

	mu     sync.Mutex
	blocks []string
	calls  int
	last   llm.Request
}

// Add appends a block.
func (m *Model) Add(block string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks = append(m.blocks, block)
}

// Left says how many blocks were not used.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.blocks)
}

// Complete implements llm.Model.
func (m *Model) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	m.mu.Lock()
	m.last = req
	m.calls++
	n := m.calls
	if len(m.blocks) == 0 {
		m.mu.Unlock()
		m.Complain("the model was called once more than the script says; the prompt ends with:\n%s", tail(req))
		return llm.Response{Text: "(the script is over)", Finish: "stop"}, nil
	}
	block := m.blocks[0]
	m.blocks = m.blocks[1:]
	m.mu.Unlock()

	var r llm.Response
	var failed error
	for line := range strings.Lines(block) {
		word, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if long, why, ok := strings.Cut(rest, " "); ok && word == "busy" {
			wait, err := time.ParseDuration(long)
			watch(llm.Delta{Pause: &llm.Pause{Fault: llm.Fault(why), For: wait}})
			if failed = m.sleep(ctx, long); err != nil || failed != nil {
				break
			}
			watch(llm.Delta{Pause: &llm.Pause{}})
			continue
		}
		if d, ok := piece(word, rest); ok {
			watch(d)
			time.Sleep(time.Second) // in the bubble's time
			continue
		}
		if err := m.line(ctx, &r, req, word, rest, n); err != nil {
			failed = err
		}
	}
	return r, failed
}

// piece is the part of the completion that a line gives to the watcher.
func piece(word, rest string) (d llm.Delta, ok bool) {
	switch word {
	case "grow":
		return llm.Delta{Reasoning: rest}, true
	case "write":
		return llm.Delta{Text: strings.ReplaceAll(rest, `\n`, "\n")}, true
	case "calling":
		return llm.Delta{Calls: true}, true
	case "anew":
		return llm.Delta{Reset: true}, true
	}
	return d, false
}

func (m *Model) line(ctx context.Context, r *llm.Response, req llm.Request, word, rest string, n int) error {
	switch word {
	case "":
	case "think":
		r.Reasoning = rest
	case "call":
		name, args, _ := strings.Cut(rest, " ")
		id := fmt.Sprintf("w%d-%d", n, len(r.Calls)+1)
		r.Calls = append(r.Calls, llm.Call{ID: id, Name: name, Args: args})
		r.Finish = "tool_calls"
	case "say":
		if r.Text != "" {
			r.Text += "\n"
		}
		r.Text += rest
	case "finish":
		r.Finish = rest
	case "model":
		if req.Model != rest {
			m.Complain("model call %d is for %q, not %q", n, req.Model, rest)
		}
	case "fail":
		return &llm.Error{Fault: llm.Fault(rest)}
	case "lasts":
		return m.sleep(ctx, rest)
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	case "expect":
		rest = strings.ReplaceAll(rest, `\n`, "\n")
		if !strings.Contains(whole(req), rest) {
			m.Complain("the prompt of model call %d does not hold %q:\n%s", n, rest, whole(req))
		}
	case "refuse":
		if strings.Contains(whole(req), rest) {
			m.Complain("the prompt of model call %d holds %q:\n%s", n, rest, whole(req))
		}
	case "no":
		if len(req.Tools) > 0 && !req.NoCalls {
			m.Complain("model call %d offers tools", n)
		}
	case "uses":
		if _, err := fmt.Sscan(rest, &r.Usage.Prompt, &r.Usage.Completion); err != nil {
			m.Complain("uses %s: %v", rest, err)
		}
	case "meanwhile":
		m.Meanwhile(rest)
	default:
		m.Complain("the script has no word %q", word)
	}
	return nil
}

// sleep passes the bubble's time.
func (m *Model) sleep(ctx context.Context, long string) error {
	d, err := time.ParseDuration(long)
	if err != nil {
		m.Complain("%v", err)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func whole(req llm.Request) string {
	var b strings.Builder
	for _, t := range req.Tools {
		fmt.Fprintf(&b, "[offered] %s: %s\n", t.Name, t.Description)
	}
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "[%s] %s", m.Role, m.Text)
		for _, img := range m.Images {
			fmt.Fprintf(&b, " <%s of %d bytes>", img.MediaType, len(img.Data))
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " call %s %s", c.Name, c.Args)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func tail(req llm.Request) string {
	text := whole(req)
	return text[max(0, len(text)-600):]
}

// Tools are tools that do nothing but say what they were told to.
type Tools struct {
	Board   *Board
	Results map[string]string // tool → result; "ok" where absent
	Failing map[string]bool
	Files   map[string]string // tool → name of a file that it makes
	Takes   map[string]time.Duration
	// Asks are what the calls of a tool ask the person, one after the other: a schema
	// and, behind it, the words. What came of it stands in place of ANSWER in the result.
	Asks map[string][]string

	// Previews are what the previews of a tool come to, one after the other; the last
	// one stays. One that begins with "fail" fails for the rest of it.
	Previews map[string][]string
}

// Preview implements run.Previewer.
func (t Tools) Preview(_ context.Context, _ chat.Desk, c llm.Call) (chat.Preview, error) {
	time.Sleep(2 * time.Millisecond) // in the bubble's time: what was shown before, and began beside it, stands
	t.Board.Note("preview %s %s", c.Name, compact(c.Args))
	left := t.Previews[c.Name]
	if len(left) == 0 {
		return chat.Preview{Text: c.Name + " would do something"}, nil
	}
	if len(left) > 1 {
		t.Previews[c.Name] = left[1:]
	}
	if why, fails := strings.CutPrefix(left[0], "fail "); fails {
		return chat.Preview{Err: why}, nil
	}
	return chat.Preview{Text: strings.ReplaceAll(left[0], "ARGS", compact(c.Args))}, nil
}

// turn is when a call begins: those of one step one after the other, in the order of
// the script.
func (Tools) turn(c llm.Call) time.Duration {
	n := 1
	if part := strings.Split(c.ID, "-"); len(part) > 2 {
		if k, err := strconv.Atoi(part[2]); err == nil {
			n = k
		}
	}
	return time.Millisecond + time.Duration(n)*time.Microsecond
}

// Call implements run.Toolbox.
func (t Tools) Call(ctx context.Context, desk chat.Desk, c llm.Call) (llm.Result, error) {
	time.Sleep(t.turn(c)) // in the bubble's time: what was shown before stands
	t.Board.Note("run %s %s", c.Name, compact(c.Args))
	time.Sleep(t.Takes[c.Name])
	text, ok := t.Results[c.Name]
	if !ok {
		text = "ok"
	}
	var answers []string
	for _, q := range t.Asks[c.Name] {
		schema, words, _ := strings.Cut(q, "\n")
		a, err := desk.Ask(ctx, chat.Question{From: c.Name + "_maker", Text: words, Schema: schema})
		if err != nil {
			a.How = chat.How(err.Error())
		}
		time.Sleep(2 * time.Millisecond) // what is shown of it stands
		answers = append(answers, strings.TrimSpace(string(a.How)+" "+a.Values))
	}
	if len(answers) > 0 {
		t.Board.Note("%s hears %s", c.Name, strings.Join(answers, ", "))
	}
	text = strings.ReplaceAll(text, "ANSWER", strings.Join(answers, ", "))
	r := llm.Result{Text: text, Failed: t.Failing[c.Name]}
	if name := t.Files[c.Name]; name != "" {
		r.Files = []llm.File{{Name: name, MediaType: mime.TypeByExtension(path.Ext(name)), Data: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00")}}
	}
	return r, nil
}

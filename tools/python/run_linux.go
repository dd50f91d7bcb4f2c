package python

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"nod/llm"
	"nod/tools"
)

//go:embed python.md
var text string

const parameters = `{"type":"object","properties":{"code":{"type":"string","minLength":1,"maxLength":100000}},"required":["code"],"additionalProperties":false}`

const watchEvery = 100 * time.Millisecond

// Tool is the tool for the model.
func (p *Python) Tool() tools.Tool {
	t := tools.New("python", text, parameters, p.run)
	t.HumanName, t.Aliases, t.Code = "code interpreter", []string{"code_interpreter", "python_interpreter"}, "code"
	// It changes nothing outside of its sandbox. A call that runs again after a crash
	// finds no variables, since the interpreters died with the bot, and says so. In the
	// folder it finds its own files.
	t.ReadOnly = true
	// The same code may continue from the last call's state.
	t.Advances = true
	return t
}

// run performs a call: code in; output, new files and losses out.
func (p *Python) run(ctx context.Context, in tools.Input, arg struct{ Code string }) (llm.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		select {
		case <-p.closing:
			cancel(errClosed)
		case <-ctx.Done():
		}
	})
	name := folderName(in.Thread)
	s, err := p.enter(ctx, name)
	if err != nil {
		return tools.Failed("python was not run: it was stopped before it began"), err
	}
	defer p.leave(name, s)
	f, err := openFolder(filepath.Join(p.threads(), name), p.box.give)
	if err != nil {
		return llm.Result{}, err
	}
	r, err := p.perform(ctx, s, f, in, arg.Code)
	f.note.Used = p.o.Now()
	return r, errors.Join(err, f.save())
}

func (p *Python) perform(ctx context.Context, s *session, f *folder, in tools.Input, code string) (llm.Result, error) {
	notes, err := f.lay(ctx, in)
	if err != nil {
		return llm.Result{}, err
	}
	before, _, err := f.list()
	if err != nil {
		return llm.Result{}, errors.Join(err, p.stop(s))
	}
	var end ending
	for try := 1; try == 1 || try == 2 && end.deaf; try++ { // it may have died between two calls
		if end.deaf {
			if err := p.stop(s); err != nil {
				return llm.Result{}, err
			}
		}
		if notes, err = p.renew(ctx, s, f, notes); err != nil {
			return tools.Failed("python was not run: its sandbox did not start; other code won't help"), err
		}
		end = p.call(ctx, s.i, f, code, p.o.Timeout)
	}
	return p.finish(ctx, s, f, end, result{before: before, notes: notes})
}

// renew starts a missing interpreter, and names the variables that were lost with the
// last one.
func (p *Python) renew(ctx context.Context, s *session, f *folder, notes []string) ([]string, error) {
	if s.i != nil {
		return notes, nil
	}
	if f.note.Alive {
		notes = append(notes, "a new interpreter was started, as the last one had ended: "+f.lost())
	}
	return notes, p.begin(ctx, s, f)
}

// ending is how a call ended.
type ending struct {
	answer answer
	cut    string // why the code was interrupted
	lost   string // why the interpreter can't go on
	deaf   bool   // it never got the code
}

// call runs code, and returns when it has answered or has to be killed.
func (p *Python) call(ctx context.Context, i *interpreter, f *folder, code string, most time.Duration) ending {
	id, err := i.send(code)
	if err != nil {
		return ending{lost: "the interpreter no longer listened", deaf: true}
	}
	watch, limit := time.NewTicker(watchEvery), p.o.after(most)
	defer watch.Stop()
	var grace <-chan time.Time
	stopped, cut := ctx.Done(), ""
	interrupt := func(why string) {
		if cut == "" {
			cut, grace = why, time.After(p.o.answer)
			_ = i.python.Signal(syscall.SIGINT) // if there is nobody to hear it, grace ends that
		}
	}
	for {
		select {
		case a, ok := <-i.answers:
			switch {
			case !ok:
				return ending{lost: "the interpreter ended" + i.status()}
			case a.ID != id:
				return ending{lost: "the interpreter's connection was broken"}
			}
			return ending{answer: a, cut: cut}
		case <-limit:
			interrupt(fmt.Sprintf("it took longer than %s", most))
		case <-stopped:
			stopped = nil
			interrupt("it was stopped")
		case <-grace:
			return ending{lost: cut + " and could not be interrupted"}
		case <-watch.C:
			if why := p.watched(i, f); why != "" {
				return ending{lost: why}
			}
		}
	}
}

// watched says why an interpreter has to end, when it goes beyond its limits.
func (p *Python) watched(i *interpreter, f *folder) string {
	list, _, err := below(i.first.Pid)
	switch {
	case err != nil:
		return "it could not be watched"
	case len(list) > processesMost:
		return fmt.Sprintf("it had more than %d processes", processesMost)
	case memoryOf(list, p.o.Memory) > p.o.Memory:
		return fmt.Sprintf("it took more than %s of memory", bytesText(p.o.Memory))
	}
	unlinked, err := unlinkedOf(list, p.o.Disk)
	if err != nil {
		return "its open files could not be watched"
	}
	return f.over(p.o.Disk - unlinked)
}

// result is a call's result as it grows.
type result struct {
	before map[string]mark
	notes  []string
	text   string
	failed bool
	files  []llm.File
}

// finish leaves nothing running, and says how the call went.
func (p *Python) finish(ctx context.Context, s *session, f *folder, end ending, r result) (llm.Result, error) {
	if end.lost == "" {
		ended, err := s.i.freeze()
		if err != nil {
			p.o.Log.Warn("freeze an interpreter", "error", err)
			end.lost = "what it had started could not be ended"
		} else if ended > 0 {
			r.notes = append(r.notes, fmt.Sprintf("%d processes that the code had left running were ended", ended))
		}
	}
	if end.lost == "" {
		end.lost = p.watched(s.i, f)
	}
	r.text = s.i.outputNow()
	if end.lost != "" {
		if err := p.lose(s, f, end, &r); err != nil {
			return tools.Failed("python was ended: %s", end.lost), err
		}
	} else {
		f.note.Names = variables(end.answer.Names)
		r.conclude(end)
	}
	files, notes, err := f.produced(r.before)
	if err != nil {
		return llm.Result{}, err
	}
	r.files, r.notes = files, append(r.notes, notes...)
	return r.compose(), context.Cause(ctx)
}

// lose ends an interpreter that can't go on, and a folder that is too full.
func (p *Python) lose(s *session, f *folder, end ending, r *result) error {
	if err := p.stop(s); err != nil {
		return err
	}
	r.failed = true
	r.notes = append(r.notes, fmt.Sprintf("python was ended: %s. %s", end.lost, capital(f.lost())))
	f.note.Alive, f.note.Names = false, nil
	if f.over(p.o.Disk) != "" {
		r.notes = append(r.notes, "what was in the working folder was erased")
		return f.clear()
	}
	return nil
}

// lost names the variables of a dead interpreter.
func (f *folder) lost() string {
	if len(f.note.Names) == 0 {
		return "all variables, functions and imports are gone"
	}
	return "all variables, functions and imports are gone, among them " + strings.Join(f.note.Names, ", ")
}

// conclude tells of code that the interpreter survived.
func (r *result) conclude(end ending) {
	r.failed = end.answer.Failed || end.cut != ""
	if end.answer.Error != "" {
		r.text = strings.TrimRight(r.text, "\n") + "\n" + end.answer.Error
	}
	if end.cut != "" {
		r.notes = append(r.notes, "the code was interrupted: "+end.cut+"; what it had computed so far is kept")
	}
}

// compose puts the notes before the output, where they are read first and are
// not cut off.
func (r *result) compose() llm.Result {
	var lines []string
	for _, n := range r.notes {
		lines = append(lines, "("+n+")")
	}
	if t := strings.Trim(r.text, "\n"); strings.TrimSpace(t) != "" {
		lines = append(lines, t)
	}
	var made []string
	for _, f := range r.files {
		made = append(made, fmt.Sprintf("%s (%s, %s)", f.Name, f.MediaType, bytesText(int64(len(f.Data)))))
	}
	if len(made) > 0 {
		lines = append(lines, "files: "+strings.Join(made, ", "))
	}
	if len(lines) == 0 {
		lines = []string{"done; nothing was printed"}
	}
	return llm.Result{Text: strings.Join(lines, "\n"), Failed: r.failed, Files: r.files}
}

const variablesMost = 40

func variables(names []string) []string {
	var out []string
	for _, n := range names {
		if len(out) < variablesMost && isIdentifier(n) {
			out = append(out, n)
		}
	}
	return out
}

// isIdentifier says whether a text may be a variable's name, when an interpreter that
// cannot be trusted says it. It is no expression, as that one would take 2 MB.
func isIdentifier(name string) bool {
	if utf8.RuneCountInString(name) > 60 {
		return false
	}
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsNumber(r)) {
			return false
		}
	}
	return name != ""
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

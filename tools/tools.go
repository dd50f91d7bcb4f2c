// Package tools is the toolbox: what the model can do besides talking. One tool
// is one name.go, one name.md (the prose that the model reads) and one
// name_test.go.
//
// A tool has two kinds of failure, and they never mix. What the model can do
// something about (a wrong argument, a program that ended with status 1) is a
// Result that says Failed, in the terms of the tool's own definition. What only
// an operator can do something about is an error.
//
// Whether a call may run at all is decided elsewhere, from what a Tool says of
// itself and what the configuration says of it. The Box only makes sure that
// nothing that a tool does or gives back can hurt: wrong arguments, a panic, a
// flood of output, bytes that would drive a terminal.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/llm"
	"nod/llm/args"
)

// Risk says whether a call of a tool needs an approval.
type Risk string

// The risks, as the configuration writes them.
const (
	Auto  Risk = "auto"  // just run
	Ask   Risk = "ask"   // wait for an approval
	Never Risk = "never" // refuse
)

// Allowed lists those that the file may name.
func (Risk) Allowed() []string { return []string{string(Auto), string(Ask), string(Never)} }

// Tool is something that the model can call.
type Tool struct {
	llm.Tool

	// ReadOnly says that a call changes nothing anywhere, so that it may run
	// again after a crash.
	ReadOnly bool
	// Advances says that the same call again goes on where the last one
	// stopped, as a lookup of the next match does. A repeated call is then no
	// sign of a model that runs in circles.
	Advances bool
	// Outside says that strangers write the results.
	Outside bool
	// Address is the parameter that names the page that a call reads; empty for
	// all tools but the one that fetches.
	Address string
	// Definition holds the parts of the tool that the model does not see: an approval
	// of a call binds them too.
	Definition string
	// Sends are the parameters whose values go to a place outside, where a value can
	// carry something away.
	Sends []string
	// Undeclared says that nobody wrote down which parameters these are: a parameter with
	// the name or the value of an address is one, too.
	Undeclared bool
	// Unaccepted says that a stranger described it, and that nobody accepted that.
	Unaccepted bool
	// Server is the server that has it; empty for tools of none. Shown says that its
	// definition is in each prompt also where the model finds tools by search.
	Server string
	Shown  bool
	// Lists says that the result is a list of a search: lines that begin with a number,
	// each with a line behind it that is only an address.
	Lists bool
	// Reads says that it reads the thread's artifacts, and is of no use where
	// there are none.
	Reads bool
	// Whole says that its results are never cut.
	Whole bool
	// Timeout is how long a call may take at the most, by the tool's own clock; 0: a
	// minute.
	Timeout time.Duration
	// Risk is Auto, Ask or Never where the configuration says nothing.
	Risk Risk

	// NotReady says why a call would not run now, in words for the model; "" when it
	// would. nil: it always would.
	NotReady func(ctx context.Context) string
	// Try proves, for nothing, that a service takes calls; nil: there is none to ask.
	Try func(ctx context.Context) error
	// Preview says what a call would do, and changes nothing; nil where nothing says
	// that. It is called like Run. PreviewRequired: nobody may approve a call without.
	Preview         func(ctx context.Context, in Input) (chat.Preview, error)
	PreviewRequired bool

	// Run performs a call. It is called concurrently. The arguments fit the
	// parameters. See the package for the two kinds of failure.
	Run func(ctx context.Context, in Input) (llm.Result, error)
}

// Input is one call of a tool.
type Input struct {
	chat.Desk
	Args json.RawMessage // one JSON object
}

// Box holds the tools by name. It is safe for concurrent use.
type Box struct {
	// Mask removes secrets from a result; nil: none. It is set before the first call.
	Mask interface {
		Text(string) string
		Bytes([]byte) []byte
	}

	tools   map[string]Tool
	schemas map[string]*args.Schema
}

// toolName matches function names that providers accept.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// NewBox refuses tools that could not be called: an unusable name or one that
// is there twice, parameters that are no JSON Schema, an unknown risk. It
// reports all of them at once.
func NewBox(tools ...Tool) (*Box, error) {
	b := &Box{tools: map[string]Tool{}, schemas: map[string]*args.Schema{}}
	var errs []error
	for _, t := range tools {
		if err := b.add(t); err != nil {
			errs = append(errs, fmt.Errorf("add tool %q: %w", t.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Box) add(t Tool) error {
	if !toolName.MatchString(t.Name) {
		return errors.New("a name has 1 to 64 letters, digits, _ and -")
	}
	if _, ok := b.tools[t.Name]; ok {
		return errors.New("there is another one of this name")
	}
	if t.Risk != Auto && t.Risk != Ask && t.Risk != Never {
		return fmt.Errorf("the risk is auto, ask or never, not %q", t.Risk)
	}
	if t.Run == nil {
		return errors.New("it does nothing")
	}
	schema, err := args.Compile(t.Parameters)
	if err != nil {
		return err
	}
	b.tools[t.Name], b.schemas[t.Name] = t, schema
	return nil
}

// Schema is the schema of a tool's arguments; nil if there is no such tool.
func (b *Box) Schema(name string) *args.Schema { return b.schemas[name] }

// List gives the tools sorted by name, so that a prompt that holds them stays
// the same from call to call.
func (b *Box) List() []Tool {
	return slices.SortedFunc(maps.Values(b.tools), func(x, y Tool) int { return strings.Compare(x.Name, y.Name) })
}

// NotReady says why a call of a tool would not run now; "" when it would.
func (b *Box) NotReady(ctx context.Context, name string) string {
	if t, ok := b.tools[name]; ok && t.NotReady != nil {
		return t.NotReady(ctx)
	}
	return ""
}

// Try proves that the service behind a tool takes calls, where the tool can tell.
func (b *Box) Try(ctx context.Context, name string) error {
	if t, ok := b.tools[name]; ok && t.Try != nil {
		return t.Try(ctx)
	}
	return nil
}

// Call runs a tool. The Result is for the model, also where there is an error:
// the error is for the operator, and holds neither arguments nor results. The
// arguments are checked here too, since a call that comes from a log may be
// older than the tool's definition.
func (b *Box) Call(ctx context.Context, desk chat.Desk, call llm.Call) (llm.Result, error) {
	tool, ok := b.tools[call.Name]
	if !ok {
		return Failed("there is no tool %q; there are: %s", call.Name, strings.Join(slices.Sorted(maps.Keys(b.tools)), ", ")), nil
	}
	raw, err := args.Native(call.Args)
	if err != nil {
		return Failed("%s was not run: %v", tool.Name, err), nil
	}
	if wrong := b.schemas[tool.Name].Check(raw); len(wrong) > 0 {
		return Failed("%s was not run, its arguments are wrong:\n%s", tool.Name, strings.Join(wrong, "\n")), nil
	}
	desk.Ask, desk.Hold = b.asks(desk.Ask), b.holds(desk.Hold)
	result, err := guarded(ctx, tool.Run, Input{Desk: desk, Args: raw})
	if err != nil {
		err = fmt.Errorf("run tool %s: %w", tool.Name, err)
		if result.Text == "" {
			result = Failed("%s broke down; this is a fault of the tool, not of the arguments", tool.Name)
		}
	}
	if result = b.masked(result); tool.Whole {
		result.Text = Clean(result.Text)
		return result, err
	}
	return bounded(tool.Name, result), err
}

// asks asks people, with secrets masked.
func (b *Box) asks(ask func(context.Context, chat.Question) (chat.Answer, error)) func(context.Context, chat.Question) (chat.Answer, error) {
	if ask == nil || b.Mask == nil {
		return ask
	}
	return func(ctx context.Context, q chat.Question) (chat.Answer, error) {
		q.Text, q.Schema = b.Mask.Text(q.Text), b.Mask.Text(q.Schema)
		return ask(ctx, q)
	}
}

// holds keeps handles, with secrets masked in their questions.
func (b *Box) holds(hold func(chat.Handle)) func(chat.Handle) {
	if hold == nil || b.Mask == nil {
		return hold
	}
	return func(h chat.Handle) {
		h.Asks = slices.Clone(h.Asks)
		for i, q := range h.Asks {
			h.Asks[i].Text, h.Asks[i].Schema = b.Mask.Text(q.Text), b.Mask.Text(q.Schema)
		}
		hold(h)
	}
}

// masked is a result with secrets masked. A tool may repeat its own input: a header, a
// variable of its environment.
func (b *Box) masked(r llm.Result) llm.Result {
	if b.Mask == nil {
		return r
	}
	// Once more after removing colours: a program that marks its matches puts colours
	// into the middle of a word.
	r.Text = b.Mask.Text(Clean(b.Mask.Text(r.Text)))
	files := make([]llm.File, 0, len(r.Files))
	for _, f := range r.Files {
		f.Name, f.Data = b.Mask.Text(f.Name), b.Mask.Bytes(f.Data)
		files = append(files, f)
	}
	r.Files = files
	return r
}

// guarded makes an error of a panic. The value of the panic may hold arguments and
// is not repeated, unless it is Go's own.
func guarded[R any](ctx context.Context, f func(context.Context, Input) (R, error), in Input) (result R, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("recover from panic: %w\n%s", r, debug.Stack())
		default:
			err = fmt.Errorf("recover from panic with a %T\n%s", r, debug.Stack())
		}
	}()
	return f(ctx, in)
}

// Failed is a result that tells the model its mistake.
func Failed(format string, a ...any) llm.Result {
	return llm.Result{Text: fmt.Sprintf(format, a...), Failed: true}
}

// FreeName gives a file a name that no file of the thread has, which a model
// can tell apart from theirs: chart.png, chart-2.png.
func FreeName(files []chat.File, name string) string {
	extension := path.Ext(name)
	free := name
	for n := 2; slices.ContainsFunc(files, func(f chat.File) bool { return strings.EqualFold(f.Name, free) }); n++ {
		free = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, extension), n, extension)
	}
	return free
}

// Environ is all that a program sees of the bot's environment, so none of its secrets: PATH,
// HOME, LANG, and the variables that the file names.
func Environ(more ...string) (env []string) {
	for _, name := range append([]string{"PATH", "HOME", "LANG"}, more...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Place makes the path of a program absolute, where it has a slash. A name without one is
// looked for in PATH.
func Place(argv []string, absolute func(path string) string) {
	if len(argv) > 0 && strings.Contains(argv[0], "/") {
		argv[0] = absolute(argv[0])
	}
}

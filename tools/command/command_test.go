package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
	"nod/tools"
)

const anyString = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"n":{"type":"integer"}}}`

// shell is a command that runs a script; the parameters follow as $1, $2 …
func shell(script string, params ...string) Keys {
	return Keys{
		Name: "try", Description: "Try.", Parameters: json.RawMessage(anyString),
		Argv: append([]string{"sh", "-c", script, "sh"}, params...), Cwd: ".", Timeout: 30 * time.Second,
	}
}

func call(t *testing.T, c Keys, args string) (llm.Result, error) {
	t.Helper()
	tool := New(c)
	return tooltest.Box(t, tool).Call(t.Context(), chat.Desk{Key: "key-1"}, llm.Call{Name: tool.Name, Args: args})
}

func TestArguments(t *testing.T) {
	// The program writes each of its arguments on a line, in brackets.
	const show = `for a; do printf '[%s]\n' "$a"; done`
	tests := []struct {
		name string
		argv []string
		args string
		want string
	}{
		{"whole", []string{"{a}"}, `{"a":"x y"}`, "[x y]"},
		{"no shell", []string{"{a}"}, `{"a":"; rm -rf / && $(id) | cat > x ` + "`id`" + ` 'q' \"r\" * ~ $HOME"}`, "[; rm -rf / && $(id) | cat > x `id` 'q' \"r\" * ~ $HOME]"},
		{"newline", []string{"{a}", "end"}, `{"a":"x\ny"}`, "[x\ny]\n[end]"},
		{"empty", []string{"{a}", "end"}, `{"a":""}`, "[]\n[end]"},
		{"placeholder in a value", []string{"{a}", "{b}"}, `{"a":"{b}","b":"x"}`, "[{b}]\n[x]"},
		{"absent", []string{"{a}", "end"}, `{}`, "[end]"},
		{"null is absent", []string{"{c}", "end"}, `{"c":null}`, "[end]"},
		{"absent in a longer one", []string{"--a={a}", "end"}, `{}`, "[--a=]\n[end]"},
		{"in a longer one", []string{"--a={a}"}, `{"a":"-x --b"}`, "[--a=-x --b]"},
		{"two in one", []string{"{a}:{b}"}, `{"a":"x","b":"y"}`, "[x:y]"},
		{"number", []string{"{n}"}, `{"n":12345678901234567890}`, "[12345678901234567890]"},
		{"number as written", []string{"{c}"}, `{"c":1.50}`, "[1.50]"},
		{"boolean", []string{"{c}"}, `{"c":true}`, "[true]"},
		{"object", []string{"{c}"}, `{"c":{"y":[1, "<&>"], "x":null}}`, `[{"x":null,"y":[1,"<&>"]}]`},
		{"literal braces", []string{"{ print }", "{}"}, `{}`, "[{ print }]\n[{}]"},
		{"option", []string{"{a}"}, `{"a":"--force"}`, `!the value of "a" begins with -`},
		{"dash alone", []string{"{a}"}, `{"a":"-"}`, `!begins with -`},
		{"option, begun by the value", []string{"{a}@host"}, `{"a":"-oProxyCommand=x"}`, `!"a" begins with -`},
		{"option, behind an empty one", []string{"{a}{b}"}, `{"a":"","b":"-x"}`, `!"b" begins with -`},
		{"option, made of two", []string{"{a}{b}"}, `{"a":"-","b":"-force"}`, `!"a" begins with -`},
		{"negative number", []string{"{n}"}, `{"n":-1}`, `!"n" begins with -`},
		{"behind --", []string{"--", "{a}"}, `{"a":"--force"}`, "[--]\n[--force]"},
		{"before --", []string{"{a}", "--"}, `{"a":"--force"}`, "!begins with -"},
		{"-- by the model", []string{"{a}", "{b}"}, `{"a":"--","b":"--force"}`, `!"a" begins with -`},
		{"-- by the model, allowed", []string{"{e}", "{b}"}, `{"e":"--","b":"--force"}`, `!"b" begins with -`},
		{"zero byte", []string{"{a}"}, `{"a":"x\u0000y"}`, "!zero byte"},
		{"zero byte within", []string{"--a={a}"}, `{"a":"\u0000"}`, "!zero byte"},
		{"too long", []string{"{a}"}, `{"a":"` + strings.Repeat("x", 200_000) + `"}`, "!too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := shell(show, tt.argv...)
			c.Parameters = json.RawMessage(strings.Replace(anyString, `{"a":`, `{"c":{},"e":{"enum":["--","x"]},"a":`, 1))
			got, err := call(t, c, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			part, refused := strings.CutPrefix(tt.want, "!")
			if got.Failed != refused {
				t.Fatalf("failed %v: %s", got.Failed, got.Text)
			}
			if refused && !strings.Contains(got.Text, part) {
				t.Errorf("refused with %q, want %q in it", got.Text, part)
			}
			if diff := cmp.Diff(tt.want, got.Text); !refused && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Which schemas let a value begin with a dash.
func TestDash(t *testing.T) {
	tests := []struct {
		schema, arg string
		want        bool
	}{
		{`{"type":"string"}`, `"-x"`, false},
		{`{"enum":["-x","y"]}`, `"-x"`, true},
		{`{"const":"-x"}`, `"-x"`, true},
		{`{"type":"string","pattern":"^-?[a-z]$"}`, `"-x"`, true},
		{`{"type":"string","pattern":"^-x$"}`, `"-x"`, true},
		{`{"type":"string","pattern":"^[^/]+$"}`, `"--delete-all"`, false},
		{`{"type":"string","pattern":"^.*$"}`, `"-x"`, false},
		{`{"type":"string","pattern":"[a-z]"}`, `"-x"`, false},
		{`{"type":"string","pattern":"^(?!--)"}`, `"-x"`, false},
		{`{"type":"string","format":"email"}`, `"-x@example.com"`, false},
		{`{"type":"string","minimum":1}`, `"-x"`, false},
		{`{"type":"integer","minimum":-9}`, `-3`, true},
		{`{"type":"number","exclusiveMinimum":-9}`, `-3.5`, true},
		{`{"type":"number","maximum":9}`, `-3.5`, false},
		{`true`, `"-x"`, false},
	}
	for _, tt := range tests {
		t.Run(tt.schema, func(t *testing.T) {
			c := shell(`echo "$1"`, "{v}")
			c.Parameters = json.RawMessage(`{"type":"object","properties":{"v":` + tt.schema + `}}`)
			got, err := call(t, c, `{"v":`+tt.arg+`}`)
			if err != nil || got.Failed == tt.want {
				t.Errorf("%+v, %v; want it to run: %v", got, err, tt.want)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	tests := []struct {
		name, script, stdin, args, want string
		output                          Output
		failed                          bool
	}{
		{name: "text", script: `echo done`, want: "done"},
		{name: "nothing", script: `true`, want: "exit status 0, no output"},
		{name: "both streams", script: `echo out; echo err >&2`, want: "stdout:\nout\nstderr:\nerr"},
		{name: "errors only", script: `echo err >&2`, want: "stderr:\nerr"},
		{name: "status", script: `echo out; exit 3`, want: "exit status 3\nout", failed: true},
		{name: "status alone", script: `exit 3`, want: "exit status 3", failed: true},
		{name: "signal", script: `kill -SEGV $$`, want: "signal: segmentation fault", failed: true},
		{name: "closed stdin", script: `cat; echo end`, want: "end"},
		{name: "stdin", script: `cat`, stdin: `{"name": "{a}", "n": {n}}`, args: `{"a":"x","n":3}`, want: `{"name": "x", "n": 3}`},
		{name: "stdin, absent", script: `cat`, stdin: "a={a}", want: "a="},
		{name: "stdin, only an absent one", script: `cat; echo end`, stdin: "{a}", want: "end"},
		{name: "stdin that nobody reads", script: `exec <&-; echo end`, stdin: "{a}", args: `{"a":"` + strings.Repeat("x", 500_000) + `"}`, want: "end"},
		{name: "escapes", script: `printf '\033[31mred\033[0m \033]0;title\007 \001'`, want: "red ␛]0;title␇ ␁"},
		{name: "not UTF-8", script: `printf 'a\377b'`, want: "a\ufffdb"},
		{name: "json", script: `printf '{ "a" : [1, 2] }\n'`, output: OutputJSON, want: `{"a":[1,2]}`},
		{name: "json with errors", script: `echo '[ ]'; echo careful >&2`, output: OutputJSON, want: "stdout:\n[]\nstderr:\ncareful"},
		{name: "not json", script: `echo oops`, output: OutputJSON, want: "oops\n(the output is not valid JSON)"},
		{name: "no json", script: `true`, output: OutputJSON, want: "(there is no output, where JSON was expected)"},
		{name: "json that was cut", script: `head -c 9000000 /dev/zero | tr '\0' 1`, output: OutputJSON, want: "…(the output is not valid JSON)"},
		{name: "failed json", script: `echo '{"error": 1}'; exit 1`, output: OutputJSON, want: "exit status 1\n{\"error\":1}", failed: true},
		{name: "no file", script: `true`, output: OutputFile, want: "there is no file: the program wrote nothing to standard output", failed: true},
		{name: "failed file", script: `echo half; echo why >&2; exit 2`, output: OutputFile, want: "exit status 2\nstderr:\nwhy", failed: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := shell(tt.script)
			c.Output, c.Stdin = tt.output, tt.stdin
			got, err := call(t, c, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if end, long := strings.CutPrefix(tt.want, "…"); long && strings.HasSuffix(got.Text, end) {
				return
			}
			if diff := cmp.Diff(llm.Result{Text: tt.want, Failed: tt.failed}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFile(t *testing.T) {
	tests := []struct{ name, script, file, media, text string }{
		{"text", `echo hello`, "try-output.txt", "text/plain; charset=utf-8", "hello\n"},
		{"json", `echo '{"a":1}'`, "try-output.json", "application/json", "{\"a\":1}\n"},
		{"image", `printf '\211PNG\r\n\032\n...'`, "try-output.png", "image/png", "\x89PNG\r\n\x1a\n..."},
		{"bytes", `printf '\000\001\002'`, "try-output.bin", "application/octet-stream", "\x00\x01\x02"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := shell(tt.script)
			c.Output = OutputFile
			got, err := call(t, c, "")
			if err != nil {
				t.Fatal(err)
			}
			want := llm.Result{
				Text:  fmt.Sprintf("the output is the file %s (%s, %d bytes)", tt.file, tt.media, len(tt.text)),
				Files: []llm.File{{Name: tt.file, MediaType: tt.media, Data: []byte(tt.text)}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-secret")
	t.Setenv("PASSED", "on")
	t.Setenv("LANG", "C.UTF-8")
	c := shell(`env`)
	c.Env = []string{"PASSED", "NOT_SET_ANYWHERE"}
	got, err := call(t, c, "")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for line := range strings.Lines(got.Text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	for _, own := range []string{"PWD", "OLDPWD", "SHLVL", "_"} { // the shell's
		delete(env, own)
	}
	want := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"), "LANG": "C.UTF-8", "PASSED": "on", "NOD_CALL_KEY": "key-1",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlace(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here.sh"), []byte("#!/bin/sh\npwd\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	here := Keys{Name: "here", Description: "Where.", Parameters: json.RawMessage(anyString), Argv: []string{"./here.sh"}, Timeout: 30 * time.Second}
	here.Place(func(path string) string { return filepath.Join(dir, path) })
	got, err := call(t, here, "")
	if err != nil || got.Text != resolved {
		t.Errorf("%+v, %v; want %s", got, err, resolved)
	}
}

func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("plain.sh", "#!/bin/sh\n", 0o600)
	write("alien", "\x00\x01", 0o700)
	write("orphan", "#!/no/such/interpreter\n", 0o700)
	tests := []struct{ name, program, cwd, want string }{
		{"not there", "./none.sh", dir, "its program none.sh (or the interpreter that it names) is not there"},
		{"not in PATH", "no-such-program-anywhere", dir, "its program no-such-program-anywhere (or"},
		{"no interpreter", "./orphan", dir, "interpreter"},
		{"no permission", "./plain.sh", dir, "there is no permission to run its program plain.sh"},
		{"not a program", "./alien", dir, "is none that this machine can run"},
		{"no directory", "/bin/sh", filepath.Join(dir, "gone"), "its working directory is not there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			program := strings.Replace(tt.program, "./", dir+"/", 1)
			got, err := call(t, Keys{Name: "try", Parameters: json.RawMessage(anyString), Argv: []string{program}, Cwd: tt.cwd, Timeout: 30 * time.Second}, "")
			if err == nil || !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("%+v, %v; want %q", got, err, tt.want)
			}
			if strings.Contains(got.Text, dir) {
				t.Errorf("the model is told of the machine's directories: %s", got.Text)
			}
		})
	}
}

// fifo is a pipe in the file system. Reading it to its end shows that no
// process is left that had it open.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEndsWholeGroup(t *testing.T) {
	tests := []struct{ name, script string }{
		{"obedient", `exec 3>"$1"; sleep 1000 & echo started >&3; echo before; wait`},
		{"ignores SIGTERM", `trap '' TERM; exec 3>"$1"; sleep 1000 & echo started >&3; echo before; wait`},
		{"leader ends, child ignores SIGTERM", `exec 3>"$1"; (trap '' TERM; sleep 1000) >/dev/null 2>&1 & echo started >&3; echo before; wait`},
		{"in the background", `exec 3>"$1"; (sh -c 'sleep 1000 & sleep 1000' & ) ; echo started >&3; echo before; sleep 1000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			alive := fifo(t)
			c := newCommand(shell(tt.script, alive))
			c.grace = 20 * time.Millisecond
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("stopped by a person")
			type outcome struct {
				result llm.Result
				err    error
			}
			done := make(chan outcome)
			go func() {
				result, err := c.run(ctx, tools.Input{Args: json.RawMessage(`{}`)})
				done <- outcome{result, err}
			}()
			pipe, err := os.Open(alive) // waits for the program
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = pipe.Close() }()
			if _, err := io.ReadFull(pipe, make([]byte, len("started\n"))); err != nil {
				t.Fatal(err)
			}
			cancel(stop)
			got := <-done
			if !errors.Is(got.err, stop) || !got.result.Failed || !strings.Contains(got.result.Text, "was stopped") {
				t.Errorf("%+v, %v", got.result, got.err)
			}
			if rest, err := io.ReadAll(pipe); err != nil || len(rest) > 0 { // ends when the last process has
				t.Errorf("read %q, %v", rest, err)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	c := newCommand(shell(`echo begun; sleep 1000`))
	c.Timeout, c.grace = 100*time.Millisecond, 20*time.Millisecond
	got, err := c.run(t.Context(), tools.Input{Args: json.RawMessage(`{}`)})
	for errors.Is(err, errTimeout) { // a busy machine had not begun by then
		c.Timeout *= 2
		got, err = c.run(t.Context(), tools.Input{Args: json.RawMessage(`{}`)})
	}
	if err != nil || !got.Failed || !strings.HasPrefix(got.Text, fmt.Sprintf("try took longer than %s and was ended", c.Timeout)) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A process that the program leaves behind does not hold the call up, and goes
// on: a restart script starts servers.
func TestLeavesServer(t *testing.T) {
	c := newCommand(shell(`sleep 1000 & echo $!`))
	var note, number string
	for c.grace = 20 * time.Millisecond; number == ""; c.grace *= 2 { // in which a busy machine may not read it
		got, err := c.run(t.Context(), tools.Input{Args: json.RawMessage(`{}`)})
		if err != nil || got.Failed {
			t.Fatalf("%+v, %v", got, err)
		}
		note, number, _ = strings.Cut(got.Text, "\n")
	}
	if !strings.Contains(note, "left a process running") {
		t.Errorf("note %q", note)
	}
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the process that was left is gone: %v", err)
	}
}

func TestCancelledBefore(t *testing.T) {
	c := newCommand(shell(`echo ran`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := c.run(ctx, tools.Input{Args: json.RawMessage(`{}`)})
	if !errors.Is(err, context.Canceled) || !got.Failed || !strings.Contains(got.Text, "before it began") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestHugeOutput(t *testing.T) {
	c := shell(`echo first; yes | head -c 50000000; echo last; echo careful >&2`)
	got, err := call(t, c, "")
	if err != nil || got.Failed {
		t.Fatalf("failed %v, %v", got.Failed, err)
	}
	for _, want := range []string{"stdout:\nfirst\ny\n", "y\nlast\nstderr:\ncareful", "bytes are left out here; the artifact named below has all of it"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %q in what the model reads", want)
		}
	}
	if len(got.Text) > tools.Cap || len(got.Files) != 1 || len(got.Files[0].Data) > tools.FileCap {
		t.Errorf("%d bytes of text, %d files", len(got.Text), len(got.Files))
	}
	c.Output, c.Argv[2] = OutputFile, `yes | head -c 50000000`
	got, err = call(t, c, "")
	if err != nil || !got.Failed || !strings.Contains(got.Text, "more than 16777216 bytes") || len(got.Files) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

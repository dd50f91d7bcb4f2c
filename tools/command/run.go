package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"nod/llm"
	"nod/tools"
)

// How much of a program's output is kept in memory, while it may write as much
// as it likes.
const (
	stdoutHead = 6 << 20
	stdoutTail = 1 << 20
	stderrHead = 128 << 10
	stderrTail = 128 << 10
	fileMost   = 16 << 20 // a file is whole or it is none
)

// process is one call of a command.
type process struct {
	argv           []string // behind the program
	stdin          string
	key            string
	stdout, stderr *tools.Capture
}

var errTimeout = errors.New("timeout")

// execute runs the program in a process group of its own, and waits until it
// has ended. When the time is over or ctx is done, the whole group ends.
func (c *command) execute(ctx context.Context, p process) (llm.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
	defer cancel()
	if p.stdout == nil {
		p.stdout, p.stderr = tools.NewCapture(stdoutHead, stdoutTail), tools.NewCapture(stderrHead, stderrTail)
	}
	if c.Output == OutputFile {
		p.stdout = tools.NewCapture(fileMost, 0)
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], p.argv...)
	cmd.Dir = c.Cwd
	cmd.Env = c.env[:len(c.env):len(c.env)]
	if p.key != "" {
		cmd.Env = append(cmd.Env, "NOD_CALL_KEY="+p.key)
	}
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	if p.stdin != "" {
		cmd.Stdin = strings.NewReader(p.stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalGroup(cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = c.grace
	if err := cmd.Start(); err != nil {
		return c.notStarted(ctx, err)
	}
	err := cmd.Wait()
	if err != nil && ctx.Err() != nil {
		// The rest of the group ignores SIGTERM. While the group has a member, its
		// number is not reused; if it has none, there is no error.
		if err := signalGroup(cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return tools.Failed("%s was stopped, but a process that it started goes on", c.Name), fmt.Errorf("kill process group: %w", err)
		}
		return c.cutShort(ctx, p)
	}
	return c.result(p, cmd.ProcessState, errors.Is(err, exec.ErrWaitDelay))
}

// signalGroup sends a signal to every process of a group.
func signalGroup(leader int, signal syscall.Signal) error {
	err := syscall.Kill(-leader, signal)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// notStarted says why there was no process at all.
func (c *command) notStarted(ctx context.Context, err error) (llm.Result, error) {
	if ctx.Err() != nil {
		return tools.Failed("%s was not run: it was stopped before it began", c.Name), context.Cause(ctx)
	}
	if errors.Is(err, syscall.E2BIG) {
		return tools.Failed("%s was not run: its arguments are too long for a program; write shorter ones", c.Name), nil
	}
	program := filepath.Base(c.Argv[0])
	why := fmt.Sprintf("its program %s cannot be run", program)
	switch info, statErr := os.Stat(c.Cwd); {
	case statErr != nil || !info.IsDir():
		why = "its working directory is not there"
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		why = fmt.Sprintf("its program %s (or the interpreter that it names) is not there", program)
	case errors.Is(err, fs.ErrPermission):
		why = fmt.Sprintf("there is no permission to run its program %s", program)
	case errors.Is(err, syscall.ENOEXEC):
		why = fmt.Sprintf("its program %s is none that this machine can run", program)
	}
	return tools.Failed("%s was not run: %s. Other arguments won't help; somebody has to set it up.", c.Name, why),
		fmt.Errorf("start program: %w", err)
}

// cutShort tells of a program that was ended from outside.
func (c *command) cutShort(ctx context.Context, p process) (llm.Result, error) {
	out := ""
	if c.Output != OutputFile {
		out = "\n" + streams(p.stdout.Text(), p.stderr.Text())
	}
	if errors.Is(context.Cause(ctx), errTimeout) {
		return tools.Failed("%s took longer than %s and was ended; what it had begun may be done in part%s", c.Name, c.Timeout, out), nil
	}
	return tools.Failed("%s was stopped; what it had begun may be done in part%s", c.Name, out), context.Cause(ctx)
}

// result tells of a program that ended by itself.
func (c *command) result(p process, state *os.ProcessState, open bool) (llm.Result, error) {
	r := llm.Result{Failed: !state.Success()}
	var lines []string
	if r.Failed {
		lines = append(lines, state.String()) // "exit status 3", "signal: killed"
	}
	if open {
		lines = append(lines, "(it left a process running; what that writes from now on is not seen)")
	}
	switch {
	case c.Output == OutputFile && !r.Failed:
		file, note := c.file(p.stdout)
		r.Failed = file == nil
		if file != nil {
			r.Files = []llm.File{*file}
		}
		lines = append(lines, note, streams("", p.stderr.Text()))
	case c.Output == OutputFile: // a failed program's output is no file
		lines = append(lines, streams("", p.stderr.Text()))
	case c.Output == OutputJSON:
		out, note := compacted(p.stdout)
		lines = append(lines, streams(out, p.stderr.Text()), note)
	default:
		lines = append(lines, streams(p.stdout.Text(), p.stderr.Text()))
	}
	for _, line := range lines {
		if line != "" {
			r.Text += line + "\n"
		}
	}
	r.Text = strings.TrimSuffix(r.Text, "\n")
	r.Text = cmp.Or(r.Text, "exit status 0, no output")
	return r, nil
}

// streams joins both outputs of a program, so that the model can tell them apart.
// Standard output alone needs no heading.
func streams(stdout, stderr string) string {
	stdout, stderr = strings.TrimRight(stdout, "\r\n"), strings.TrimRight(stderr, "\r\n")
	switch {
	case stderr == "":
		return stdout
	case stdout == "":
		return "stderr:\n" + stderr
	}
	return "stdout:\n" + stdout + "\nstderr:\n" + stderr
}

// compacted takes the spaces out of JSON, or says that it is none.
func compacted(c *tools.Capture) (text, note string) {
	var out bytes.Buffer
	if err := json.Compact(&out, c.Bytes()); err != nil || c.Cut() {
		if c.Size() == 0 {
			return "", "(there is no output, where JSON was expected)"
		}
		return c.Text(), "(the output is not valid JSON)"
	}
	return out.String(), ""
}

// file makes a file of standard output, and a note for the model, or only a
// note that says why there is none.
func (c *command) file(stdout *tools.Capture) (*llm.File, string) {
	switch {
	case stdout.Size() == 0:
		return nil, "there is no file: the program wrote nothing to standard output"
	case stdout.Cut():
		return nil, fmt.Sprintf("there is no file: it has more than %d bytes", fileMost)
	}
	data := stdout.Bytes()
	media := http.DetectContentType(data)
	if json.Valid(data) {
		media = "application/json"
	}
	kind, _, _ := strings.Cut(media, ";")
	file := &llm.File{Name: c.Name + "-output" + cmp.Or(extensions[kind], ".bin"), MediaType: media, Data: data}
	return file, fmt.Sprintf("the output is the file %s (%s, %d bytes)", file.Name, media, len(data))
}

// extensions are those of the types that net/http tells apart and people open.
// A machine's own table may give any of several.
var extensions = map[string]string{
	"text/plain": ".txt", "text/html": ".html", "image/jpeg": ".jpg", "application/json": ".json",
	"application/pdf": ".pdf", "application/zip": ".zip", "application/x-gzip": ".gz",
	"image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "text/xml": ".xml",
}

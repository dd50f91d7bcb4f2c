package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/tools"
	"nod/tools/mcp/wire"
)

// child is a server that runs as a program: one JSON-RPC message a line, on its
// standard input and output. It implements the SDK's Transport and Connection,
// since the SDK's own takes the first line of a log on standard output for the
// end of the connection, and ends only the program and not what that started.
// See https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio.
type child struct {
	cmd     *exec.Cmd
	in      *os.File // its standard input
	out     *os.File // its standard output
	lines   *bufio.Reader
	most    int           // bytes of a line
	call    time.Duration // for a message, where the context has no deadline
	grace   time.Duration
	exited  chan struct{}
	ended   error          // how; to be read once exited is closed
	stderr  *tools.Capture // its end; to be read once exited is closed
	fault   *fault
	garbage int           // lines in sequence that were no messages
	write   chan struct{} // held by who writes
	torn    bool          // the last write broke off in its line
	stopped sync.Once
}

// startChild starts a program in a process group of its own. It sees PATH, HOME
// and LANG, and so none of the bot's secrets.
func startChild(s *server) (*child, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start program: %w", err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), in.Close()
		return nil, fmt.Errorf("start program: %w", err)
	}
	c := &child{
		in: in, out: out, lines: bufio.NewReaderSize(out, 64<<10), most: s.pace.bytes, call: s.pace.call, grace: s.pace.grace,
		exited: make(chan struct{}), write: make(chan struct{}, 1), fault: s.fault,
		stderr: tools.NewCapture(0, 2<<10),
	}
	// stop ends it, and more gently than a context does.
	c.cmd = exec.CommandContext(context.Background(), s.Command[0], s.Command[1:]...)
	c.cmd.Dir = s.dir
	c.cmd.Env = tools.Environ()
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.WaitDelay = s.pace.grace // for a process that it left behind with its standard error
	err = c.cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, notStarted(s.Command[0], err)
	}
	go c.wait()
	return c, nil
}

// notStarted says why there is no process, without the arguments.
func notStarted(program string, err error) error {
	program = filepath.Base(program)
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return ours("its program %s (or the interpreter that it names) is not there; install it, or write its path", program)
	case errors.Is(err, fs.ErrPermission):
		return ours("there is no permission to run its program %s", program)
	}
	return ours("its program %s can't be run", program)
}

// wait reaps the program, and ends its leftover children: they would hold its standard
// output open.
func (c *child) wait() {
	c.ended = c.cmd.Wait()
	c.signal(syscall.SIGKILL)
	close(c.exited)
}

func (c *child) signal(s syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, s) }

// stop ends the program as the protocol asks for: its input ends; if it does not
// end with it, it gets SIGTERM, and then SIGKILL with all of its group.
func (c *child) stop() {
	c.stopped.Do(func() {
		_ = c.in.Close()
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-c.exited:
			case <-time.After(c.grace):
				c.signal(s)
			}
		}
		<-c.exited
		_ = c.out.Close()
	})
}

// Connect implements the SDK's Transport.
func (c *child) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements the SDK's Connection. Only HTTP has sessions.
func (c *child) SessionID() string { return "" }

// Close implements the SDK's Connection.
func (c *child) Close() error {
	c.stop()
	return nil
}

// mostGarbage is how many lines in sequence may be something else than messages.
const mostGarbage = 1000

// Read implements the SDK's Connection. Lines that are no messages are left out:
// many servers, or the tools that start them, print a greeting.
func (c *child) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := c.fault.line(c.lines, c.most, c.most)
		var own *trouble
		switch {
		case errors.As(err, &own):
			return nil, own
		case err != nil:
			return nil, io.EOF
		}
		msg, err := jsonrpc.DecodeMessage(wire.Tidy(bytes.TrimSpace(line)))
		if err == nil {
			c.garbage = 0
			return msg, nil
		}
		if c.garbage++; c.garbage > mostGarbage {
			return nil, c.fault.note(ours("what it writes to standard output is not the protocol"))
		}
	}
}

// Write implements the SDK's Connection.
func (c *child) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err == nil {
		err = c.put(ctx, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write message: %w", cmp.Or(ctx.Err(), err))
	}
	return nil
}

// put writes a line. A program that does not read would hold it up for ever, so it ends
// with ctx, and has a deadline. What the program may have of a message that broke off ends
// its line, so that the next one is whole.
func (c *child) put(ctx context.Context, data []byte) error {
	select {
	case c.write <- struct{}{}:
		defer func() { <-c.write }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.torn {
		data = append([]byte{'\n'}, data...)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(c.call)
	}
	if err := c.in.SetWriteDeadline(deadline); err != nil {
		return err
	}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = c.in.SetWriteDeadline(time.Now()) // it fails where there is nothing to be ended any more
	})
	n, err := c.in.Write(data)
	if !stop() {
		<-over // it is not to end the next one
	}
	c.torn = err != nil && (c.torn || n > 0)
	return err
}

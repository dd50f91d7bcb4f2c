package redis

import (
	"fmt"
	"io"
	"testing"
)

// Errors of a server are of three kinds: they may pass, they concern one thread, or
// neither.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err                error
		transient, damaged bool
	}{
		{io.EOF, true, false},
		{said("LOADING Redis is loading the dataset in memory"), true, false},
		{said("READONLY You can't write against a read only replica. script: 1, on @user_script:5."), true, false},
		{said("NOREPLICAS Not enough good replicas to write."), true, false},
		{said("OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:5."), false, false},
		{said("WRONGTYPE Operation against a key holding the wrong kind of value script: 1, on @user_script:5."), false, true},
		{said("ERR user_script:7: attempt to compare number with nil script: 1, on @user_script:7."), false, true},
		{said("ERR The user executing the script can't run this command or subcommand script: 1, on @user_script:5."), false, false},
		{said("ERR Script attempted to access a non local key in a cluster node script: 1, on @user_script:9."), true, false},
		// As servers before Redis 7 say it, and others that speak like them.
		{said(inScript + "@user_script:5: @user_script: 5: -READONLY You can't write against a read only replica."), true, false},
		{said(inScript + "@user_script:5: -NOREPLICAS Not enough good replicas to write."), true, false},
		{said(inScript + "@user_script:5: @user_script: 5: -OOM command not allowed when used memory > 'maxmemory'."), false, false},
		{said(inScript + "@user_script:5: @user_script: 5: -WRONGTYPE Operation against a key holding the wrong kind of value"), false, true},
		{said(inScript + "@user_script:7: user_script:7: attempt to compare number with nil"), false, true},
		{said(inScript + "@user_script:9: @user_script: 9: Lua script attempted to access a non local key in a cluster node"), true, false},
		{said("ERR max number of clients reached"), true, false},
		{errReplicas, false, false},
		{fmt.Errorf("%w: x", errName), false, true},
	} {
		if got := isTransient(c.err); got != c.transient {
			t.Errorf("transient(%v) = %v", c.err, got)
		}
		if got := isDamaged(c.err); got != c.damaged {
			t.Errorf("damaged(%v) = %v", c.err, got)
		}
	}
}

const inScript = "ERR Error running script (call to f_1028a5dba704e1d8a01fd96efeba25bb78f62df2): "

// said is what a server said.
type said string

func (s said) Error() string { return string(s) }

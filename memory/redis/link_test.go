package redis

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// What a server says is told apart: what may pass, what a thread has to itself,
// and what is neither.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err                error
		transient, damaged bool
	}{
		{io.EOF, true, false},
		{errors.New("LOADING Redis is loading the dataset in memory"), true, false},
		{errors.New("READONLY You can't write against a read only replica. script: 1, on @user_script:5."), true, false},
		{errors.New("NOREPLICAS Not enough good replicas to write."), true, false},
		{errors.New("OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:5."), false, false},
		{errors.New("WRONGTYPE Operation against a key holding the wrong kind of value script: 1, on @user_script:5."), false, true},
		{errors.New("ERR user_script:7: attempt to compare number with nil script: 1, on @user_script:7."), false, true},
		{errors.New("ERR The user executing the script can't run this command or subcommand script: 1, on @user_script:5."), false, false},
		{errors.New("ERR max number of clients reached"), false, false},
		{errReplicas, false, false},
		{fmt.Errorf("%w: x", errName), false, true},
	} {
		if got := transient(c.err); got != c.transient {
			t.Errorf("transient(%v) = %v", c.err, got)
		}
		if got := damaged(c.err); got != c.damaged {
			t.Errorf("damaged(%v) = %v", c.err, got)
		}
	}
}

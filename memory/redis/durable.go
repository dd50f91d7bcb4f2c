package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// replicaWait is how long a durable write waits for replicas.
const replicaWait = time.Second

// replicaLag is the longest delay of a good replica.
const replicaLag = 200 * time.Millisecond

// errReplicas: the server has the write, and perhaps no replica. It may be tried again.
var errReplicas = errors.New("not enough replicas confirmed the write in time " +
	"(?replicas=N in the store's URL says how many have to; by default one, where the server has or had any)")

// replicaGrace is how long a server that lost its replicas counts as cut off. After
// that it counts as a server without replicas.
const replicaGrace = 30 * time.Second

// replicas says how many replicas must confirm a durable write.
type replicas struct {
	wanted   int      // from the URL; -1: one, if there is any or was just now
	lastSeen sync.Map // by server: when it last had one, as [time.Time]
}

func (r *replicas) need(server string) int {
	if _, has := r.lastSeen.Load(server); r.wanted < 0 && has {
		return 1
	}
	return max(r.wanted, 0)
}

// noteSeen notes that a server has replicas.
func (r *replicas) noteSeen(server string) { r.lastSeen.Store(server, time.Now()) }

// lostFor says how long a server has had no replicas.
func (r *replicas) lostFor(server string) time.Duration {
	seen, _ := r.lastSeen.Load(server)
	last, _ := seen.(time.Time)
	return time.Since(last)
}

// runDurably runs a script and waits until replicas have its writes. Acknowledged
// events and started side effects must survive the loss of the server.
func (s *Store) runDurably(ctx context.Context, script *redis.Script, shard int, args ...any) (out any, err error) {
	return s.durably(ctx, briefly, script, shard, args...)
}

func (s *Store) durably(ctx context.Context, most int, script *redis.Script, shard int, args ...any) (out any, err error) {
	err = s.retry(ctx, shard, most, func() error {
		var c *redis.Client
		if c, err = s.master(ctx, shard); err != nil {
			return err
		}
		need := s.replicas.need(serverOf(c))
		if need == 0 {
			out, err = script.Run(ctx, s.cmd, []string{s.keys.tag(shard)}, args...).Result()
			return err
		}
		out, err = s.runAndWait(ctx, c, script, need, s.keys.tag(shard), args)
		switch {
		case err == nil:
			s.replicas.noteSeen(serverOf(c))
		case errors.Is(err, errReplicas) && s.hasNoReplicas(ctx, c, err):
			s.replicas.lastSeen.Delete(serverOf(c))
			s.log.Warn("redis: the server has no replicas any more; nothing waits for them", "server", serverOf(c))
			err = nil
		case strings.HasPrefix(err.Error(), "MOVED"):
			reload(ctx, s.cmd)
		}
		return err
	})
	return out, err
}

func serverOf(c *redis.Client) string { return c.Options().Addr }

// unreplicated is errReplicas with the server's run id; "" if unknown.
type unreplicated struct{ runID string }

func (unreplicated) Error() string { return errReplicas.Error() }
func (unreplicated) Unwrap() error { return errReplicas }

// hasNoReplicas tells a server without replicas from one that was cut off from them
// because another one took its place. Sentinels know that; without them, time decides.
func (s *Store) hasNoReplicas(ctx context.Context, c *redis.Client, of error) bool {
	if s.replicas.wanted >= 0 {
		return false
	}
	if s.address.master != "" {
		var server unreplicated
		_ = errors.As(of, &server)
		return s.address.isAlone(ctx, s.tls, server.runID)
	}
	n, err := replicasOf(ctx, c, 0)
	return err == nil && n == 0 && s.replicas.lostFor(serverOf(c)) > replicaGrace
}

// runAndWait uses one connection and one round trip for both, because WAIT covers the
// earlier writes of its own connection.
func (s *Store) runAndWait(ctx context.Context, c *redis.Client, script *redis.Script, need int, tag string, args []any) (any, error) {
	conn := c.Conn()
	defer func() { _ = conn.Close() }()
	for _, eval := range []func(redis.Pipeliner) *redis.Cmd{
		func(p redis.Pipeliner) *redis.Cmd { return script.EvalSha(ctx, p, []string{tag}, args...) },
		func(p redis.Pipeliner) *redis.Cmd { return script.Eval(ctx, p, []string{tag}, args...) },
	} {
		var cmd *redis.Cmd
		var wait *redis.Cmd
		_, _ = conn.Pipelined(ctx, func(p redis.Pipeliner) error {
			cmd, wait = eval(p), p.Do(ctx, "wait", need, replicaWait.Milliseconds())
			return nil
		})
		if err := cmd.Err(); err != nil {
			if redis.HasErrorPrefix(err, "NOSCRIPT") {
				continue
			}
			return nil, err
		}
		got, err := wait.Int()
		if err != nil {
			return nil, fmt.Errorf("wait for replicas: %w", err)
		}
		if got < need {
			return cmd.Val(), unreplicated{runIDOf(ctx, conn)}
		}
		return cmd.Val(), nil
	}
	return nil, errors.New("the server does not keep scripts")
}

// runIDOf gives the server's run id, by which sentinels know it; "" if the user may not
// ask.
func runIDOf(ctx context.Context, c *redis.Conn) string {
	info, _ := c.Info(ctx, "server").Result()
	_, rest, _ := strings.Cut(info, "run_id:")
	id, _, _ := strings.Cut(rest, "\r\n")
	return id
}

// replicasOf counts the replicas that are not behind; it waits a little for want of
// them. WAIT needs no right for INFO, but takes its full time if there are none.
func replicasOf(ctx context.Context, c *redis.Client, want int) (int64, error) {
	info, err := c.Info(ctx, "replication").Result()
	if err == nil && strings.Contains(info, "connected_slaves:0") {
		return 0, nil
	}
	if want > 0 {
		return c.Wait(ctx, want, replicaWait).Result()
	}
	return c.Wait(ctx, 1, replicaLag).Result()
}

func (s *Store) countReplicas(ctx context.Context) error {
	if s.replicas.wanted >= 0 {
		return nil
	}
	if s.address.master != "" {
		n, err := s.address.goodReplicas(ctx, s.tls)
		if c, ok := s.cmd.(*redis.Client); ok && err == nil && n > 0 {
			s.replicas.noteSeen(serverOf(c))
		}
		return err
	}
	return s.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		n, err := replicasOf(ctx, c, 0)
		if err != nil {
			return fmt.Errorf("ask for replicas: %w", err)
		}
		if n > 0 {
			s.replicas.noteSeen(serverOf(c))
		}
		return nil
	})
}

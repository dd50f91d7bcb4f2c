package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// replicaWait is how long a commit waits for a replica.
const replicaWait = time.Second

var errReplicas = errors.New("no replica confirmed the commit in time")

// runDurably runs a script and waits until a replica has what it wrote, where
// the server has replicas: what was promised not to happen twice must survive
// the loss of the server. After errReplicas the server has it, and perhaps no
// replica.
func (s *Store) runDurably(ctx context.Context, script *redis.Script, shard int, args ...any) (out any, err error) {
	err = s.do(ctx, func() error {
		var c *redis.Client
		if c, err = s.master(ctx, shard); err != nil {
			return err
		}
		out, err = s.runOn(ctx, c, script, shard, args)
		if err != nil && strings.HasPrefix(err.Error(), "MOVED") {
			if cluster, ok := s.cmd.(*redis.ClusterClient); ok {
				cluster.ReloadState(ctx)
			}
			return fmt.Errorf("TRYAGAIN: %w", err)
		}
		return err
	})
	return out, err
}

// master gives the server that a shard is written to.
func (s *Store) master(ctx context.Context, shard int) (*redis.Client, error) {
	switch c := s.cmd.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, s.keys.tag(shard))
	case *redis.Client:
		return c, nil
	default:
		return nil, fmt.Errorf("use client of type %T", c)
	}
}

// runOn uses one connection for both, since WAIT is about what came before it
// on its own connection.
func (s *Store) runOn(ctx context.Context, c *redis.Client, script *redis.Script, shard int, args []any) (any, error) {
	conn := c.Conn()
	defer func() { _ = conn.Close() }()
	out, err := script.Run(ctx, conn, []string{s.keys.tag(shard)}, args...).Result()
	if err != nil {
		return nil, err
	}
	info, err := conn.Info(ctx, "replication").Result()
	if err != nil {
		return nil, fmt.Errorf("ask for replicas: %w", err)
	}
	if !strings.Contains(info, "state=online") {
		return out, nil
	}
	n, err := conn.Wait(ctx, 1, replicaWait).Result()
	if err != nil {
		return nil, fmt.Errorf("wait for a replica: %w", err)
	}
	if n < 1 {
		return nil, errReplicas
	}
	return out, nil
}

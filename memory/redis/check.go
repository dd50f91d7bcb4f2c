package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// check finds out whether the servers can be trusted with what must not be
// lost, and prepares them.
func (s *Store) check(ctx context.Context, a address) error {
	err := s.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		return s.checkServer(ctx, c, a.cluster)
	})
	if err != nil {
		return err
	}
	return s.loadScripts(ctx)
}

func (s *Store) checkServer(ctx context.Context, c *redis.Client, cluster bool) error {
	if err := c.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("reach %s: %w", c.Options().Addr, err)
	}
	info, err := c.Info(ctx, "cluster").Result()
	if err == nil && strings.Contains(info, "cluster_enabled:1") && !cluster {
		return errors.New("the server is part of a cluster: write redis+cluster:// in the URL")
	}
	policy, err := s.setting(ctx, c, "maxmemory-policy")
	if err != nil {
		return err
	}
	if policy != "" && policy != "noeviction" {
		return fmt.Errorf("the server's maxmemory-policy is %s, by which it may drop threads when memory is short: "+
			"set it to noeviction (CONFIG SET maxmemory-policy noeviction, and in redis.conf)", policy)
	}
	aof, err := s.setting(ctx, c, "appendonly")
	if err != nil {
		return err
	}
	if aof == "no" {
		s.log.Warn("redis: appendonly is off: a crash of the server loses what it was told last", "server", c.Options().Addr)
	}
	return nil
}

// setting gives a setting of the server, or nothing where the server does not
// let us see it, as managed ones do.
func (s *Store) setting(ctx context.Context, c *redis.Client, name string) (string, error) {
	m, err := c.ConfigGet(ctx, name).Result()
	if err == nil {
		return m[name], nil
	}
	if transient(err) || ctx.Err() != nil {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	s.log.Warn("redis: the server hides a setting: see to it that maxmemory-policy is noeviction and appendonly is yes",
		"setting", name, "error", err)
	return "", nil
}

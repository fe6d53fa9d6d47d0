package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// grace is how long calls under way may take when the server stops.
const grace = 3 * time.Second

// Serve listens on addr (host:port) and serves until ctx ends; it then lets
// calls under way end for up to 3 s, and returns nil. It returns an error when
// it can't listen or serve.
func (s *Services) Serve(ctx context.Context, addr string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening on %s for the remote services: %w", addr, err)
	}
	return s.ServeOn(ctx, l)
}

// ServeOn is Serve for a listener, which it closes.
func (s *Services) ServeOn(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	s.log.Info("remote services listen", slog.String("address", l.Addr().String()))
	select {
	case err := <-served:
		return fmt.Errorf("serving the remote services on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(late)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	<-served
	if err != nil {
		return fmt.Errorf("stopping the remote services: %w", err)
	}
	return nil
}

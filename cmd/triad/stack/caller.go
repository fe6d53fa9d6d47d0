package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"triad/shared/cloud/carrier"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

// What must end does: the SDK by itself waits for minutes where nothing answers.
const (
	// credentialsWithin bounds the search for credentials: a program that asks
	// for a code (credential_process) may be part of it.
	credentialsWithin = time.Minute
	// openWithin bounds the reading of outputs and definitions.
	openWithin = 30 * time.Second
	// dialWithin bounds a connection, callWithin a call; a receive waits 2 s.
	dialWithin = 5 * time.Second
	callWithin = 20 * time.Second
	// connections are kept alive to each service.
	connections = 64
)

// caller is AWS as the aws command would reach it. An endpoint that is given
// counts for every service, whatever else is configured.
func (s *Stack) caller(ctx context.Context) (aws.Config, error) {
	c, err := config.LoadDefaultConfig(ctx, func(o *config.LoadOptions) error {
		o.Region, o.SharedConfigProfile, o.AppID = s.config.Region, s.config.Profile, "triad-cli"
		o.Logger = logging.Nop{} // what it would say is in the errors, or of no use
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(callWithin).
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialWithin }).
			WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = connections })
		return nil
	})
	var noProfile config.SharedConfigProfileNotExistError
	switch {
	case errors.As(err, &noProfile):
		return c, fmt.Errorf("there is no profile %s in the configuration of AWS: check --profile or AWS_PROFILE", noProfile.Profile)
	case err != nil:
		return c, fmt.Errorf("reading the configuration of AWS: %w", err)
	case c.Region == "":
		return c, errors.New("no region is set: give --region, or set AWS_REGION or a profile with a region")
	}
	if s.config.Endpoint != "" {
		c.BaseEndpoint, c.ConfigSources = &s.config.Endpoint, nil // where endpoints of single services are looked up
	}
	c.HTTPClient = carrier.Whole(c.HTTPClient)
	return c, s.credentials(ctx, c)
}

// credentials fails when there are none, before any call is made with them: an
// error of a call would not tell which of the two it is about.
func (s *Stack) credentials(ctx context.Context, c aws.Config) error {
	bounded, cancel := context.WithTimeout(ctx, credentialsWithin)
	defer cancel()
	_, err := c.Credentials.Retrieve(bounded)
	const way = "log in (aws sso login, aws configure), choose a profile with --profile or AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(err.Error(), "no EC2 IMDS role found"): // the last place that the SDK looks at
		return errors.New("there are no credentials for AWS: " + way)
	}
	return fmt.Errorf("there are no credentials for AWS that can be used: %s: %s", way, innermost(err))
}

// innermost is what an error of the SDK is about, without the layers around it.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// unreadable says why a stack's outputs can't be read, and the way out.
func (s *Stack) unreadable(c aws.Config, err error) error {
	var answered smithy.APIError
	if !errors.As(err, &answered) {
		at := "AWS"
		if c.BaseEndpoint != nil {
			at = *c.BaseEndpoint
		}
		return fmt.Errorf("%s does not answer: check the network, the region %s, and --endpoint-url or AWS_ENDPOINT_URL if set (%w)", at, c.Region, innermost(err))
	}
	code, text := answered.ErrorCode(), answered.ErrorMessage()
	about := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(code, w) {
				return true
			}
		}
		return false
	}
	switch {
	case about("ValidationError") && strings.Contains(text, "does not exist"):
		return fmt.Errorf("there is no stack %s in region %s: check the name, --region and the account of your credentials; `make deploy` makes one", s.config.Name, c.Region)
	case about("Expired"):
		return fmt.Errorf("the credentials for AWS have expired (%s): log in again", text)
	case about("InvalidClientTokenId", "UnrecognizedClient", "Signature", "AuthFailure", "MissingAuthentication", "InvalidAccessKeyId"):
		return fmt.Errorf("AWS does not accept these credentials (%s): log in again, or choose others with --profile or AWS_PROFILE", text)
	case about("OptInRequired"):
		return fmt.Errorf("region %s is not switched on for this account: check --region (%s)", c.Region, text)
	case about("AccessDenied"):
		return fmt.Errorf("these credentials may not read stack %s: allow cloudformation:DescribeStacks (%s)", s.config.Name, text)
	}
	return fmt.Errorf("reading stack %s: %s: %s", s.config.Name, code, text)
}

package function

import (
	"context"
	"errors"
	"time"

	"triad/shared/cloud/carrier"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// callWithin bounds one HTTP call to AWS: none of a function waits for long.
const callWithin = 5 * time.Second

// AWS is how a function reaches AWS: Lambda gives region and credentials as
// variables, so the SDK's config module, with its profiles and single sign-on,
// stays out of the binary. The function's name goes into the User-Agent of every
// call, where AWS's own logs show which part of Triad made it.
func (f *Function) AWS() aws.Config {
	c := aws.Config{
		Region: f.Settings.Region, AppID: "triad-" + f.Name,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials(f.Lookup) }),
		HTTPClient:  carrier.Whole(awshttp.NewBuildableClient().WithTimeout(callWithin)),
	}
	if f.Settings.Endpoint != "" {
		c.BaseEndpoint = &f.Settings.Endpoint
	}
	return c
}

func credentials(lookup func(string) (string, bool)) (aws.Credentials, error) {
	id, _ := lookup("AWS_ACCESS_KEY_ID")
	secret, _ := lookup("AWS_SECRET_ACCESS_KEY")
	token, _ := lookup("AWS_SESSION_TOKEN")
	if id == "" || secret == "" {
		return aws.Credentials{}, errors.New("AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is missing: Lambda sets both")
	}
	return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token, Source: "Environment"}, nil
}

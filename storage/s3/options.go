package s3

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"attestry/evidence"
)

// Options say where a bucket is and who opens it.
type Options struct {
	// Endpoint is the scheme (http or https) and host of the server, without a
	// path.
	Endpoint string
	// Bucket is made by Open when it is absent.
	Bucket string
	// Region is where the bucket is, or is made. The server is asked when it is "".
	Region    string
	AccessKey string
	SecretKey evidence.Secret
	// Clock tells how old an abandoned upload is; time.Now when nil.
	Clock evidence.Clock
}

// ParseURL reads options from `http(s)://ACCESS:SECRET@host:port/bucket`, with
// `?region=…` where the server cannot be asked for it. Keys with reserved
// characters are percent-encoded. Its errors never show the URL, which holds the
// secret.
func ParseURL(address string) (Options, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Options{}, errors.New("not a URL; expected http(s)://ACCESS:SECRET@host:port/bucket")
	}
	query := u.Query()
	secret, _ := u.User.Password()
	options := Options{
		Endpoint:  u.Scheme + "://" + u.Host,
		Bucket:    strings.Trim(u.Path, "/"),
		Region:    query.Get("region"),
		AccessKey: u.User.Username(),
		SecretKey: evidence.Secret(secret),
	}
	query.Del("region")
	if len(query) > 0 || u.Fragment != "" {
		return Options{}, errors.New("only the parameter region may follow the bucket")
	}
	return options, options.validate()
}

func (o Options) validate() error {
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return errors.New("the endpoint must be http://host or https://host")
	}
	if err := s3utils.CheckValidBucketNameStrict(o.Bucket); err != nil {
		return fmt.Errorf("bucket %q: %w", o.Bucket, err)
	}
	if o.AccessKey == "" || o.SecretKey == "" {
		return errors.New("the access key and the secret key are required")
	}
	return nil
}

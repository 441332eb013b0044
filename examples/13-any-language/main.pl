# A ConfigMap with a file for nginx for each Redirects. One line of JSON comes in for each request, and one goes out.
use strict;
use warnings;
use JSON::PP;

$| = 1;    # Each answer is written at once.
my $json = JSON::PP->new->utf8->canonical;

while (my $line = <STDIN>) {
    my $request = $json->decode($line);
    print $json->encode({ id => $request->{id}, reconcile($request) }), "\n";
}

sub reconcile {
    my ($request) = @_;
    my ($metadata, $spec) = @{ $request->{object} }{qw(metadata spec)};
    my $paths = $spec->{paths};
    my @old   = sort keys %$paths;
    # The schema checks where the paths lead. It cannot check the keys of a map.
    for my $path (grep { !m{^/[\w/.-]*\z}a } @old) {
        return (error => { message => qq(no path: "$path"), permanent => JSON::PP::true });
    }
    my $config     = join '', map { "location = $_ { return 301 $paths->{$_}; }\n" } @old;
    my $config_map = {
        apiVersion => 'v1',
        kind       => 'ConfigMap',
        metadata   => { name => $metadata->{name} },
        data       => { 'redirects.conf' => $config },
    };
    return (children => [$config_map], status => { count => scalar @old });
}
